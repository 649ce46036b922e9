// SPDX-License-Identifier: BSD-3-Clause
// NAND PHY without its pins: FlashPhyIO on one side, words of pin samples on the other, SAMPLES a clock of 1.25 ns each, the earliest
// lowest. SDR and NV-DDR2 (ONFI 4.0); which of the two a way speaks is learnt from RESET and SET FEATURES as they pass.
//
// Strobes are placed, and found again in what comes in, on the grid of samples. No clock is made of a strobe and no delay line is
// needed: at 200 MT/s a byte lasts four samples, and one in its middle is taken.
//
// What the channel shows happens GAP + LEAD + 1 clocks later at the pins: LEAD, so that WE can be low before it latches and preambles can
// begin before the first byte; GAP, so that a way that has given out data is deselected for a moment before it is sent the next command,
// which ends its burst and frees DQ. For the same reason CE rises a clock early. CLE and ALE are looked at with WE only, as the channel
// keeps them while data goes out. Hence the channel's timing registers have to allow for more than the part asks, and `margin` tells the
// firmware: TPST one clock, TCS GAP clocks (30 ns, for tCHZ), TWB GAP + LEAD + 6 clocks (the way of WE out, with its serialiser, and of R/B back).
// SDR needs TWC and the guard times of the channel's reset values, 100 clocks and more (the firmware leaves them as they are).
// In NV-DDR2, READ ID, features and status come twice each (both edges), BYTE_SAMPLES apart; the channel leaves twice the time to the next one.
// `margin` also tells BYTE_SAMPLES, in eighths of a clock: the channel's DATA_RATE may not be less, as a byte is taken BYTE_SAMPLES / 2 after its
// edge, and the part has to keep up with BYTE_SAMPLES. DQS is received differentially, so that the part has to drive DQS_c.
module nand_phy_core #(
    parameter WAYS = 8,
    parameter SAMPLES = 8,     // 8 or 4
    parameter BYTE_SAMPLES = 4, // shortest byte of the part, samples: 4 or 8
    // Clocks from a pin sample's way out to the earliest answer's way in: serialiser, deserialiser and a register each. Edges that come
    // sooner are none: nobody drives DQS before the preamble.
    parameter FLIGHT = 4
) (
    input clk,
    input reset,

    // FlashPhyIO
    input      [WAYS-1:0] ce_n,
    input                 cle,
    input                 ale,
    input                 we,
    input                 dq_out_valid,
    input      [     7:0] dq_out,
    input                 re,
    input                 wp_n,
    output reg            dq_in_valid,
    output reg [     7:0] dq_in,
    output     [WAYS-1:0] rb_n,
    output     [    31:0] margin,         // as FLASH.PHY_MARGIN

    // Pin samples; _t: high impedance
    output reg  [   WAYS-1:0] pin_ce_n,
    output reg                pin_cle,
    output reg                pin_ale,
    output reg                pin_wp_n,
    output reg  [SAMPLES-1:0] pin_we_n,
    output reg  [SAMPLES-1:0] pin_re,
    output reg  [SAMPLES-1:0] pin_dqs,
    output reg                pin_dqs_t,
    output reg  [        7:0] pin_dq,
    output reg                pin_dq_t,
    input       [SAMPLES-1:0] pin_dqs_in,
    input  [8*SAMPLES-1:0] pin_dq_in,     // samples of DQ0 lowest
    input       [   WAYS-1:0] pin_rb_n
);
    localparam LEAD = 16 / SAMPLES;       // 20 ns: preambles
    localparam GAP = 24 / SAMPLES;        // 30 ns
    localparam WE_SDR = 48;               // samples that WE is low: 60 ns
    localparam WE_DDR = 10;               // 12.5 ns
    localparam WE_RISE = LEAD * SAMPLES;  // sample at which WE rises in NV-DDR2, from the clock the channel shows it
    localparam HOLD_SDR = 80;             // samples that DQ is driven from that clock on
    localparam HOLD_DDR = WE_RISE + 8;
    localparam RE_SDR = 80 / SAMPLES;     // clocks that RE is low: 100 ns, at whose end DQ is taken
    localparam AHEAD = 32;                // samples that toggles are planned ahead
    localparam [7:0] MORE_TPST = 1, MORE_TCS = GAP, MORE_TWB = GAP + LEAD + 6;
    localparam [6:0] BYTE_EIGHTHS = BYTE_SAMPLES * 8 / SAMPLES;
    assign margin = {1'b1, BYTE_EIGHTHS, MORE_TWB, MORE_TCS, MORE_TPST};

    sync_bits #(.WIDTH(WAYS)) sync_rb (.clk(clk), .in(pin_rb_n), .out(rb_n));

    // ---- delay of GAP clocks: n_ is what the rest works from
    localparam SHOWN = WAYS + 13;
    wire [SHOWN-1:0] shown_idle = {{WAYS{1'b1}}, 13'b0};
    reg [SHOWN*GAP-1:0] shown;
    always @(posedge clk) shown <= reset ? {GAP{shown_idle}} : {shown[SHOWN*(GAP-1)-1:0], ce_n, cle, ale, we, dq_out_valid, dq_out, re};
    wire [WAYS-1:0] n_ce_n;
    wire n_cle, n_ale, n_we, n_dq_out_valid, n_re;
    wire [7:0] n_dq_out;
    assign {n_ce_n, n_cle, n_ale, n_we, n_dq_out_valid, n_dq_out, n_re} = shown[SHOWN*GAP-1-:SHOWN];

    // A latch for the way that gave out data last and has been selected ever since: CE high for LEAD clocks first.
    reg [WAYS-1:0] open;
    reg [3:0] apart;
    wire part = we && |(open & ~ce_n);
    always @(posedge clk) begin
        open  <= (we ? {WAYS{1'b0}} : (re ? ~ce_n : open) & ~ce_n);
        apart <= part ? LEAD[3:0] : apart != 0 ? apart - 4'd1 : 4'd0;
        if (reset) begin
            open  <= 0;
            apart <= 4'd0;
        end
    end

    // ---- what the ways speak
    reg [WAYS-1:0] ddr, ddr_next, doubled_out, doubled_in, feature;
    reg mode_address, mode_data;
    wire [WAYS-1:0] selected = ~n_ce_n;
    wire [WAYS-1:0] is_ddr = selected & ddr;
    wire in_ddr = |is_ddr;
    wire command = n_we && n_cle;
    reg [WAYS-1:0] ce_before;
    always @(posedge clk) begin
        ce_before <= n_ce_n;
        // The interface changes between selections, after the busy time of SET FEATURES.
        if (n_ce_n != ce_before) ddr <= ddr_next;
        if (command) begin
            doubled_out <= doubled_out & ~selected |
                ((n_dq_out == 8'h90 || n_dq_out == 8'hEE || n_dq_out == 8'h70 || n_dq_out == 8'h78) ? selected : {WAYS{1'b0}});
            doubled_in <= doubled_in & ~selected | (n_dq_out == 8'hEF ? selected : {WAYS{1'b0}});
            feature    <= n_dq_out == 8'hEF ? selected : {WAYS{1'b0}};
            mode_address <= 1'b0;
            mode_data <= 1'b0;
            if (n_dq_out == 8'hFF) ddr_next <= ddr_next & ~selected;
        end
        if (n_we && n_ale && |feature) begin
            mode_address <= n_dq_out == 8'h01;
            mode_data    <= 1'b1;
        end
        if (n_dq_out_valid && mode_data) begin
            mode_data <= 1'b0;
            if (mode_address) ddr_next <= ddr_next & ~selected | (n_dq_out[5:4] == 2'b10 ? selected : {WAYS{1'b0}});
        end
        if (reset) begin
            // The packages may be in either interface now; the firmware's RESET, sent as to SDR, brings all back.
            ddr          <= 0;
            ddr_next     <= 0;
            doubled_out  <= 0;
            doubled_in   <= 0;
            feature      <= 0;
            mode_address <= 1'b0;
            mode_data    <= 1'b0;
            ce_before    <= {WAYS{1'b1}};
        end
    end

    // ---- delay of LEAD clocks
    localparam EVENT = WAYS + 14;
    wire [EVENT-1:0] event_now = {
        n_ce_n, n_we, n_dq_out_valid, n_dq_out, n_re, in_ddr, |(selected & doubled_out), |(selected & doubled_in)
    };
    reg [EVENT*LEAD-1:0] events;
    wire [EVENT-1:0] event_late = events[EVENT*LEAD-1-:EVENT];
    wire [EVENT-1:0] event_idle = {{WAYS{1'b1}}, 14'b0};
    always @(posedge clk) events <= reset ? {LEAD{event_idle}} : {events[EVENT*(LEAD-1)-1:0], event_now};
    wire [WAYS-1:0] l_ce_n = event_late[14+:WAYS];
    wire l_we = event_late[13], l_data = event_late[12];
    wire [7:0] l_dq = event_late[11:4];
    wire l_re = event_late[3], l_ddr = event_late[2], l_twice_out = event_late[1], l_twice_in = event_late[0];
    // The clock before: CE rises before the next way's falls.
    wire [EVENT-1:0] event_early = events[EVENT*(LEAD-1)-1-:EVENT];
    wire [WAYS-1:0] e_ce_n = event_early[14+:WAYS];
    wire deselect = |(e_ce_n & ~l_ce_n);

    // ---- one clock more: the pins
    reg [6:0] we_left, hold_left;
    reg in_burst, out_burst;
    reg [AHEAD-1:0] re_toggles, dqs_toggles;
    reg re_level, dqs_level;
    reg [7:0] re_low;
    reg [AHEAD-1:0] we_toggles;
    reg we_level;
    wire latching = n_we || (n_dq_out_valid && !in_ddr);
    integer i;

    // Toggles that this clock's events plan, on top of those that are left of earlier ones.
    reg [AHEAD-1:0] re_plan, dqs_plan, we_plan;
    wire start_out = n_re && in_ddr && !out_burst;
    wire start_in = n_dq_out_valid && in_ddr && !in_burst;
    wire end_out = out_burst && (part || deselect);
    always @* begin
        re_plan = re_toggles;
        if (start_out) re_plan[0] = 1'b1;
        if (l_re && l_ddr) begin
            re_plan[0] = 1'b1;
            if (l_twice_out) re_plan[BYTE_SAMPLES] = 1'b1;
        end
        we_plan = we_toggles;
        if (latching && in_ddr) begin
            we_plan[WE_RISE-WE_DDR] = 1'b1;
            we_plan[WE_RISE] = 1'b1;
        end
        dqs_plan = dqs_toggles;
        if (l_data && l_ddr) begin
            dqs_plan[BYTE_SAMPLES/2] = 1'b1;
            if (l_twice_in) dqs_plan[BYTE_SAMPLES/2+BYTE_SAMPLES] = 1'b1;
        end
    end
    reg [SAMPLES-1:0] re_word, dqs_word, we_word;
    reg re_end, dqs_end, we_end;
    wire [6:0] we_now = latching && !in_ddr ? WE_SDR[6:0] : we_left;
    always @* begin
        re_end  = re_level;
        dqs_end = dqs_level;
        we_end  = we_level;
        for (i = 0; i < SAMPLES; i = i + 1) begin
            re_end      = re_end ^ re_plan[i];
            dqs_end     = dqs_end ^ dqs_plan[i];
            re_word[i]  = re_end;
            dqs_word[i] = dqs_end;
            we_end      = we_end ^ we_plan[i];
            we_word[i]  = we_end && {25'b0, we_now} <= i;
        end
    end

    always @(posedge clk) begin
        pin_wp_n <= wp_n;
        pin_ce_n <= e_ce_n | l_ce_n | {WAYS{part || apart > 1}};

        // Latches, and data in SDR
        if (latching) begin
            pin_cle <= n_we && n_cle;
            pin_ale <= n_we && n_ale;
        end else if (hold_left <= SAMPLES) begin
            pin_cle <= 1'b0;
            pin_ale <= 1'b0;
        end
        pin_we_n <= we_word;
        we_left  <= we_now > SAMPLES ? we_now - SAMPLES[6:0] : 7'd0;
        we_level <= we_end;
        we_toggles <= we_plan >> SAMPLES;
        if (latching) begin
            hold_left <= in_ddr ? HOLD_DDR[6:0] : HOLD_SDR[6:0];
        end else begin
            hold_left <= hold_left > SAMPLES ? hold_left - SAMPLES[6:0] : 7'd0;
        end
        if (latching) pin_dq <= n_dq_out;
        else if (l_data && l_ddr) pin_dq <= l_dq;
        pin_dq_t <= !(latching || hold_left > SAMPLES || in_burst);

        // Data in NV-DDR2: DQS low through the preamble, an edge in the middle of every byte.
        if (start_in) in_burst <= 1'b1;
        else if (n_we || deselect) in_burst <= 1'b0;
        pin_dqs     <= start_in ? {SAMPLES{1'b0}} : dqs_word;
        pin_dqs_t   <= !(start_in || (in_burst && !n_we && !deselect));
        dqs_level   <= (start_in || !in_burst) ? 1'b0 : dqs_end;
        dqs_toggles <= dqs_plan >> SAMPLES;

        // Data out: SDR pulses RE; in NV-DDR2 it falls for the preamble, and every edge after that asks for a byte.
        if (start_out) out_burst <= 1'b1;
        else if (end_out) out_burst <= 1'b0;
        re_toggles <= re_plan >> SAMPLES;
        if (l_re && !l_ddr) re_low <= RE_SDR[7:0];
        else if (re_low != 0) re_low <= re_low - 8'd1;
        if (out_burst || start_out) begin
            if (end_out) begin
                // Half a clock after CE has risen.
                pin_re   <= {{SAMPLES / 2{1'b1}}, {SAMPLES / 2{re_level}}};
                re_level <= 1'b1;
            end else begin
                pin_re   <= re_word;
                re_level <= re_end;
            end
        end else begin
            pin_re   <= {SAMPLES{!((l_re && !l_ddr) || re_low > 1)}};
            re_level <= 1'b1;
        end
        if (reset) begin
            pin_ce_n    <= {WAYS{1'b1}};
            pin_cle     <= 1'b0;
            pin_ale     <= 1'b0;
            pin_wp_n    <= 1'b0;
            pin_we_n    <= {SAMPLES{1'b1}};
            pin_re      <= {SAMPLES{1'b1}};
            pin_dq_t    <= 1'b1;
            pin_dqs_t   <= 1'b1;
            we_left     <= 7'd0;
            we_toggles  <= 0;
            we_level    <= 1'b1;
            hold_left   <= 7'd0;
            in_burst    <= 1'b0;
            out_burst   <= 1'b0;
            re_toggles  <= 0;
            dqs_toggles <= 0;
            re_level    <= 1'b1;
            dqs_level   <= 1'b0;
            re_low      <= 8'd0;
        end
    end

    // ---- capture
    // Two words of samples: edges are looked for in the older one, bytes taken half a byte later.
    localparam MIDDLE = BYTE_SAMPLES / 2;
    reg [SAMPLES-1:0] dqs_old;
    reg dqs_before;
    reg [8*SAMPLES-1:0] dq_old;
    reg [FLIGHT-1:0] asked;
    reg [5:0] wanted;  // bytes that may come from now on
    reg armed;         // a burst's first rising edge has been seen
    reg twice;
    reg sdr_take;
    wire [SAMPLES:0] dqs_edges = {dqs_old, dqs_before};
    wire [7:0] taken[0:SAMPLES-1]; // byte in the middle after an edge at this sample
    genvar g, h;
    generate
        for (g = 0; g < SAMPLES; g = g + 1) begin : at
            for (h = 0; h < 8; h = h + 1) begin : bits
                if (g + MIDDLE < SAMPLES) begin : older
                    assign taken[g][h] = dq_old[h*SAMPLES+g+MIDDLE];
                end else begin : newer
                    assign taken[g][h] = pin_dq_in[h*SAMPLES+g+MIDDLE-SAMPLES];
                end
            end
        end
    endgenerate
    reg [1:0] found;
    reg [7:0] first_byte, second_byte;
    reg seen_rise, rises, falls;
    reg [5:0] left;
    integer s;
    always @* begin
        found       = 2'd0;
        first_byte  = 8'd0;
        second_byte = 8'd0;
        seen_rise   = armed;
        left        = wanted;
        rises       = 1'b0;
        falls       = 1'b0;
        for (s = 0; s < SAMPLES; s = s + 1) begin
            rises = dqs_edges[s+1] && !dqs_edges[s];
            falls = !dqs_edges[s+1] && dqs_edges[s];
            if (left != 0 && (rises || (falls && seen_rise && !twice))) begin
                seen_rise = 1'b1;
                if (found == 2'd0) first_byte = taken[s];
                else second_byte = taken[s];
                found = found + 2'd1;
                left  = left - 6'd1;
            end
        end
    end

    // Up to two bytes a clock come, one a clock goes.
    reg [7:0] queue[0:7];
    reg [2:0] head, tail;
    wire [1:0] add = sdr_take ? 2'd1 : found;
    integer d;
    always @(posedge clk) begin
        dqs_old    <= pin_dqs_in;
        dqs_before <= dqs_old[SAMPLES-1];
        dq_old     <= pin_dq_in;
        sdr_take   <= re_low == 8'd1;
        if (start_out) begin
            armed <= 1'b0;
            twice <= |(selected & doubled_out);
        end else begin
            armed <= seen_rise;
        end
        asked  <= {asked[FLIGHT-2:0], l_re && l_ddr};
        wanted <= left + (asked[FLIGHT-1] ? 6'd1 : 6'd0);
        if (sdr_take) begin
            for (d = 0; d < 8; d = d + 1) queue[tail][d] <= dq_old[d*SAMPLES];
        end else begin
            if (found != 2'd0) queue[tail] <= first_byte;
            if (found == 2'd2) queue[tail+3'd1] <= second_byte;
        end
        tail        <= tail + {1'b0, add};
        dq_in_valid <= head != tail;
        dq_in       <= queue[head];
        if (head != tail) head <= head + 3'd1;
        if (reset) begin
            head        <= 3'd0;
            tail        <= 3'd0;
            asked       <= 0;
            wanted      <= 6'd0;
            armed       <= 1'b0;
            twice       <= 1'b0;
            sdr_take    <= 1'b0;
            dq_in_valid <= 1'b0;
            dqs_before  <= 1'b0;
            dqs_old     <= 0;
        end
    end
endmodule

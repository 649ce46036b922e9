// SPDX-License-Identifier: BSD-3-Clause
// NAND packages of one flash channel, one LUN and one plane a way, with their contents in DRAM: stands behind FlashPhyIO where a board has
// no NAND. Commands and parameter page are those of the virtual board's model (board/virtual/nand), so the firmware finds nothing new.
// What it does not do: it checks no rule (a page programmed twice holds the second data) and wears nothing out.
// A page of 4,096 + SPARE bytes takes 68 x 64 bytes of DRAM: page p of way w is at BASE + (w << (PAGE_LOG2 + BLOCK_LOG2) | p) * 4352.
// DRAM forgets: after power-on the medium has to be formatted.
module nand_emulator #(
    parameter WAYS = 4,
    parameter PAGE_LOG2 = 6,             // pages a block
    parameter BLOCK_LOG2 = 7,            // blocks a way
    parameter SPARE = 224,               // bytes
    parameter [39:0] BASE = 40'd0,       // 64-byte aligned
    parameter [2047:0] PARAMETERS = 0,   // parameter page, byte 0 lowest
    parameter [63:0] ID = 0,             // READ ID at 00h, first byte lowest
    parameter READ_CYCLES = 2000,        // busy at least that long
    parameter PROGRAM_CYCLES = 10000,
    parameter ERASE_CYCLES = 40000,
    parameter RESET_CYCLES = 1000
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
    output reg [WAYS-1:0] rb_n,
    output     [    31:0] margin,

    // AXI4 to DRAM
    output reg [39:0] m_awaddr,
    output     [ 7:0] m_awlen,
    output     [ 2:0] m_awsize,
    output     [ 1:0] m_awburst,
    output reg        m_awvalid,
    input             m_awready,
    output     [63:0] m_wdata,
    output     [ 7:0] m_wstrb,
    output            m_wlast,
    output            m_wvalid,
    input             m_wready,
    input      [ 1:0] m_bresp,
    input             m_bvalid,
    output            m_bready,
    output reg [39:0] m_araddr,
    output     [ 7:0] m_arlen,
    output     [ 2:0] m_arsize,
    output     [ 1:0] m_arburst,
    output reg        m_arvalid,
    input             m_arready,
    input      [63:0] m_rdata,
    input      [ 1:0] m_rresp,
    input             m_rlast,
    input             m_rvalid,
    output            m_rready
);
    assign margin = 32'd0;               // answers within the figures of its parameter page, and has no DQS
    localparam PAGE = 4096;
    localparam BURSTS = 68;              // of 64 bytes
    localparam WORDS = BURSTS * 8;
    localparam ROW = PAGE_LOG2 + BLOCK_LOG2;
    localparam WAY_BITS = WAYS > 8 ? 4 : WAYS > 4 ? 3 : WAYS > 2 ? 2 : 1;
    localparam TIMER = 24;

    localparam [63:0] ONFI = 64'h49464E4F;
    localparam OUT_DATA = 3'd0, OUT_STATUS = 3'd1, OUT_ID = 3'd2, OUT_PARAMETERS = 3'd3, OUT_FEATURE = 3'd4;
    localparam OP_READ = 2'd0, OP_PROGRAM = 2'd1, OP_ERASE = 2'd2;

    // ---- selected way
    integer i;
    reg [WAY_BITS-1:0] way;
    always @* begin
        way = 0;
        for (i = 0; i < WAYS; i = i + 1) if (!ce_n[i]) way = i[WAY_BITS-1:0];
    end

    // ---- state of the ways
    reg [2:0] out[0:WAYS-1], out_before[0:WAYS-1];
    reg [12:0] position[0:WAYS-1];
    reg [ROW-1:0] row[0:WAYS-1];
    reg [7:0] feature_at[0:WAYS-1];
    reg [31:0] mode[0:WAYS-1];           // feature 01h
    reg [31:0] other[0:WAYS-1];          // the feature written last
    reg [7:0] other_at[0:WAYS-1];
    reg [WAYS-1:0] id_onfi, failed, outside;
    reg [WAYS-1:0] pending;              // the engine has this way's operation to do
    reg [1:0] operation[0:WAYS-1];
    reg [TIMER-1:0] timer[0:WAYS-1];

    // ---- command decoder, one for the bus
    reg [7:0] command;
    reg [2:0] addresses;
    reg [12:0] column;
    reg [15:0] address;                  // the last two bytes
    wire [23:0] address_next = {dq_out, address};
    wire ready_now = rb_n[way];

    // Start of an array operation
    reg start;
    reg [1:0] start_operation;
    reg [TIMER-1:0] start_cycles;
    reg start_target;                    // busy without the array: reset, features, parameter page
    always @* begin
        start           = 1'b0;
        start_target    = 1'b0;
        start_operation = OP_READ;
        start_cycles    = READ_CYCLES[TIMER-1:0];
        if (we && cle) begin
            case (dq_out)
                8'h30: start = command == 8'h00;
                8'h10: begin
                    start           = command == 8'h80 && wp_n;
                    start_operation = OP_PROGRAM;
                    start_cycles    = PROGRAM_CYCLES[TIMER-1:0];
                end
                8'hD0: begin
                    start           = command == 8'h60 && wp_n;
                    start_operation = OP_ERASE;
                    start_cycles    = ERASE_CYCLES[TIMER-1:0];
                end
                8'hFF: begin
                    start_target = 1'b1;
                    start_cycles = RESET_CYCLES[TIMER-1:0];
                end
                default: ;
            endcase
        end else if (we && ale && command == 8'hEC) begin
            start_target = 1'b1;
        end
    end

    wire [2:0] needed = command == 8'h60 || command == 8'h78 ? 3'd3 : 3'd5;
    always @(posedge clk) begin
        if (we && cle) begin
            command   <= dq_out;
            addresses <= 3'd0;
            case (dq_out)
                8'h00: if (out[way] == OUT_STATUS) out[way] <= out_before[way];
                8'h30: begin
                    out[way]      <= OUT_DATA;
                    position[way] <= column;
                end
                8'h70, 8'h78: if (out[way] != OUT_STATUS) begin
                    out_before[way] <= out[way];
                    out[way]        <= OUT_STATUS;
                end
                8'hFF: begin
                    out[way]  <= OUT_STATUS;
                    mode[way] <= 32'd0;
                end
                default: ;
            endcase
        end
        if (we && ale) begin
            address   <= address_next[23:8];
            addresses <= addresses + 3'd1;
            case (command)
                8'h90: begin
                    out[way]      <= OUT_ID;
                    position[way] <= 13'd0;
                    id_onfi[way]  <= dq_out == 8'h20;
                end
                8'hEC: begin
                    out[way]      <= OUT_PARAMETERS;
                    position[way] <= 13'd0;
                end
                8'hEE, 8'hEF: begin
                    out[way]        <= OUT_FEATURE;
                    position[way]   <= 13'd0;
                    feature_at[way] <= dq_out;
                end
                8'h00, 8'h80, 8'h60: begin
                    if (command != 8'h60 && addresses == 3'd0) column[7:0] <= dq_out;
                    if (command != 8'h60 && addresses == 3'd1) column[12:8] <= dq_out[4:0];
                    if (addresses == needed - 3'd1) begin
                        row[way]      <= address_next[ROW-1:0];
                        outside[way]  <= |(address_next >> ROW);
                        position[way] <= column;
                    end
                end
                default: ;
            endcase
        end
        if (dq_out_valid || re) position[way] <= position[way] + 13'd1;
        if (dq_out_valid && command == 8'hEF) begin
            if (feature_at[way] == 8'h01) begin
                mode[way][8*position[way][1:0]+:8] <= dq_out;
            end else begin
                other[way][8*position[way][1:0]+:8] <= dq_out;
                other_at[way] <= feature_at[way];
            end
        end
        if (reset) begin
            command   <= 8'h00;
            addresses <= 3'd0;
            address   <= 16'd0;
            column    <= 13'd0;
            for (i = 0; i < WAYS; i = i + 1) begin
                out[i]        <= OUT_STATUS;
                out_before[i] <= OUT_STATUS;
                position[i]   <= 13'd0;
                row[i]        <= 0;
                mode[i]       <= 32'd0;
                other[i]      <= 32'd0;
                other_at[i]   <= 8'd0;
                feature_at[i] <= 8'd0;
            end
            id_onfi <= 0;
            outside <= 0;
        end
    end

    // ---- page registers: 1,024 words a way. Port A: the bus, port B: the engine.
    (* ram_style = "block" *) reg [63:0] pages[0:(WAYS<<10)-1];
    wire programming = dq_out_valid && command == 8'h80;
    reg [63:0] bus_word;
    reg [2:0] bus_byte;
    reg [2:0] bus_out;
    reg bus_valid;
    reg [7:0] bus_small;
    wire [WAY_BITS+9:0] bus_at = {way, position[way][12:3]};
    always @(posedge clk) begin
        if (programming)
            for (i = 0; i < 8; i = i + 1) if (position[way][2:0] == i[2:0]) pages[bus_at][8*i+:8] <= dq_out;
        bus_word  <= pages[bus_at];
        bus_byte  <= position[way][2:0];
        bus_out   <= out[way];
        bus_valid <= re && !reset;
        case (out[way])
            OUT_STATUS: bus_small <= {wp_n, ready_now, ready_now, 4'b0, failed[way]};
            OUT_ID: bus_small <= id_onfi[way] ? ONFI[8*position[way][2:0]+:8] : ID[8*position[way][2:0]+:8];
            OUT_PARAMETERS: bus_small <= PARAMETERS[8*position[way][7:0]+:8];
            OUT_FEATURE: bus_small <= feature_at[way] == 8'h01 ? mode[way][8*position[way][1:0]+:8]
                : feature_at[way] == other_at[way] ? other[way][8*position[way][1:0]+:8] : 8'h00;
            default: bus_small <= 8'h00;
        endcase
        dq_in_valid <= bus_valid && !reset;
        dq_in       <= bus_out == OUT_DATA ? bus_word[8*bus_byte+:8] : bus_small;
    end

    // ---- engine: one operation of one way at a time, in turn
    reg active;
    reg [WAY_BITS-1:0] at;
    reg [1:0] doing;
    reg [ROW-1:0] page;
    reg [PAGE_LOG2:0] pages_left;
    reg [6:0] asked, answered;           // bursts of this page
    reg [9:0] word;                      // next word of the page register
    reg bad;
    wire reading = doing == OP_READ;
    wire [39:0] page_base = BASE + ({{40 - ROW - WAY_BITS{1'b0}}, at, page} * 40'd4352);
    assign {m_awlen, m_awsize, m_awburst} = {8'd7, 3'd3, 2'd1};
    assign {m_arlen, m_arsize, m_arburst} = {8'd7, 3'd3, 2'd1};
    assign m_bready = 1'b1;
    assign m_rready = 1'b1;
    assign m_wstrb  = 8'hFF;

    // Write data: a word of the page register a cycle, or the erased state.
    reg [63:0] engine_word;
    reg [9:0] fetch;
    reg full;                            // engine_word holds the word to send
    wire send = full && m_wready;
    wire fetched = active && !reading && fetch != WORDS[9:0] && (!full || send);
    assign m_wvalid = full;
    assign m_wdata  = doing == OP_ERASE ? 64'hFFFFFFFFFFFFFFFF : engine_word;
    assign m_wlast  = word[2:0] == 3'd7;
    always @(posedge clk) begin
        if (active && reading && m_rvalid) pages[{at, word}] <= m_rdata;
        else if (fetched) engine_word <= pages[{at, fetch}];
    end

    integer k, turn;
    reg [WAY_BITS-1:0] next;
    reg any;
    always @* begin
        next = at;
        any  = 1'b0;
        turn = 0;
        // The first way after the last one that has something to do.
        for (k = WAYS; k > 0; k = k - 1)
            if (pending[(at+k)%WAYS]) begin
                turn = (at + k) % WAYS;
                next = turn[WAY_BITS-1:0];
                any  = 1'b1;
            end
    end

    wire page_done = answered == BURSTS[6:0];
    always @(posedge clk) begin
        for (i = 0; i < WAYS; i = i + 1) begin
            if (timer[i] != 0) timer[i] <= timer[i] - 1'b1;
            rb_n[i] <= timer[i] == 0 && !pending[i];
        end
        if (start || start_target) begin
            rb_n[way]  <= 1'b0;
            timer[way] <= start_cycles;
        end
        if (start) begin
            failed[way]    <= outside[way];
            pending[way]   <= !outside[way];
            operation[way] <= start_operation;
        end
        if (we && cle && (dq_out == 8'h10 || dq_out == 8'hD0) && !wp_n) failed[way] <= 1'b1;

        if (!active && any) begin
            active     <= 1'b1;
            at         <= next;
            doing      <= operation[next];
            page       <= operation[next] == OP_ERASE ? row[next] & ~((1 << PAGE_LOG2) - 1) : row[next];
            pages_left <= operation[next] == OP_ERASE ? (1 << PAGE_LOG2) : 1;
            asked      <= 7'd0;
            answered   <= 7'd0;
            word       <= 10'd0;
            fetch      <= 10'd0;
            full       <= 1'b0;
            bad        <= 1'b0;
        end
        if (active) begin
            // Addresses go ahead of the data.
            if (m_arvalid && m_arready) m_arvalid <= 1'b0;
            if (m_awvalid && m_awready) m_awvalid <= 1'b0;
            if (asked != BURSTS[6:0] && !(reading ? m_arvalid && !m_arready : m_awvalid && !m_awready)) begin
                asked <= asked + 7'd1;
                if (reading) begin
                    m_arvalid <= 1'b1;
                    m_araddr  <= page_base + {27'd0, asked, 6'd0};
                end else begin
                    m_awvalid <= 1'b1;
                    m_awaddr  <= page_base + {27'd0, asked, 6'd0};
                end
            end
            if (reading && m_rvalid) begin
                word <= word + 10'd1;
                bad  <= bad || m_rresp != 2'd0;
                if (m_rlast) answered <= answered + 7'd1;
            end
            if (!reading) begin
                if (fetched) fetch <= fetch + 10'd1;
                if (fetched || send) full <= fetched;
                if (send) word <= word + 10'd1;
                if (m_bvalid) begin
                    answered <= answered + 7'd1;
                    bad      <= bad || m_bresp != 2'd0;
                end
            end
            if (page_done) begin
                asked    <= 7'd0;
                answered <= 7'd0;
                word     <= 10'd0;
                fetch    <= 10'd0;
                page     <= page + 1'b1;
                pages_left <= pages_left - 1'b1;
                if (pages_left == 1) begin
                    active      <= 1'b0;
                    pending[at] <= 1'b0;
                    if (bad) failed[at] <= 1'b1;
                end
            end
        end
        if (reset) begin
            active    <= 1'b0;
            at        <= 0;
            pending   <= 0;
            failed    <= 0;
            m_arvalid <= 1'b0;
            m_awvalid <= 1'b0;
            full      <= 1'b0;
            asked     <= 7'd0;
            answered  <= 7'd0;
            doing     <= OP_READ;
            rb_n      <= {WAYS{1'b0}};
            for (i = 0; i < WAYS; i = i + 1) timer[i] <= RESET_CYCLES[TIMER-1:0];
        end
    end
endmodule

# SPDX-License-Identifier: BSD-3-Clause
"""The board agent from the host's side (board/agent)."""

from assasin.agent.client import PORT, Agent, AgentError, Reading, Status, parse_address

__all__ = ["PORT", "Agent", "AgentError", "Reading", "Status", "parse_address"]

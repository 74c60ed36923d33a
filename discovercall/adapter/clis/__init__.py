"""Model command lines (Codex CLI, Claude Code) as adapters: one fresh home, one question, one answer."""

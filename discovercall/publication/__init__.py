"""From private records to artifacts that can be public: policy, sanitizing, validation, the pair."""

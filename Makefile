# `make test` runs everything that checks the project; CI runs the same.

VENV := .venv
PYTHON := $(VENV)/bin/python
CARGO_FLAGS ?=

.PHONY: test fmt lint doc unit bench clean

test: fmt lint doc unit
	@echo "all checks passed"

fmt:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps $(CARGO_FLAGS)

unit:
	cargo test --workspace $(CARGO_FLAGS)

# Benchmarks compare with other software, which lives in a virtual environment.
bench: $(VENV)/.ready
	L2G_PYTHON=$(PYTHON) cargo bench --workspace --bench graph

$(VENV)/.ready: benchmarks/requirements.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet -r benchmarks/requirements.txt
	touch $@

clean:
	cargo clean
	rm -rf $(VENV)

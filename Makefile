# `make test` runs everything that checks the project; CI runs the same.

VENV := .venv
PYTHON := $(VENV)/bin/python
CARGO_FLAGS ?=

.PHONY: test fmt lint doc unit python bench clean

test: fmt lint doc unit python
	@echo "all checks passed"

fmt:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps $(CARGO_FLAGS)

unit:
	cargo test --workspace $(CARGO_FLAGS)

# The Python package, built like the command line whose results it is compared with.
python: $(VENV)/.python-ready
	cargo build --workspace $(CARGO_FLAGS)
	cd python && VIRTUAL_ENV=$(abspath $(VENV)) $(abspath $(VENV))/bin/maturin develop --quiet $(CARGO_FLAGS)
	cd python && $(abspath $(PYTHON)) -m ruff check . ../benchmarks/python_align.py && $(abspath $(PYTHON)) -m ruff format --check .
	cd python && $(abspath $(PYTHON)) -m mypy && $(abspath $(PYTHON)) -m mypy.stubtest local2global._native
	cd python && $(abspath $(PYTHON)) -m pytest --quiet

$(VENV)/.python-ready: python/requirements-test.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet -r python/requirements-test.txt
	touch $@

# Benchmarks compare with other software, which lives in a virtual environment.
bench: $(VENV)/.ready
	L2G_PYTHON=$(PYTHON) cargo bench --workspace --bench graph

$(VENV)/.ready: benchmarks/requirements.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet -r benchmarks/requirements.txt
	touch $@

clean:
	cargo clean
	rm -rf $(VENV)

# `make test` runs everything that checks the project; CI runs the same.

VENV := .venv
PYTHON := $(VENV)/bin/python
CARGO_FLAGS ?=

.PHONY: test fmt modules scripts deny msrv typos features lint doc unit python bench clean

test: fmt modules scripts deny msrv typos features lint doc unit python
	@echo "all checks passed"

fmt:
	cargo fmt --all --check

# Modules depend forward only, and the picture in ARCHITECTURE.md is that of the code.
modules:
	python3 .ci/modules.py

# The scripts of the next two targets.
scripts:
	python3 -m unittest discover --quiet -s .ci

# Licences, sources, unwanted and double crates, known advisories.
deny:
	python3 .ci/deny.py

# The oldest supported Rust: what dependencies ask for, the lint, and a build if rustup has it.
msrv:
	python3 .ci/msrv.py

# Spelling, in British English; words of others are listed in _typos.toml.
typos: $(VENV)/.checks-ready
	$(VENV)/bin/typos

$(VENV)/.checks-ready: .ci/requirements.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet -r .ci/requirements.txt
	touch $@

# The library without Parquet and METIS, and its reader with WebGraph.
features:
	cargo check -p l2g-graph -p local2global --no-default-features $(CARGO_FLAGS)
	cargo test -p l2g-graph --features webgraph --test webgraph $(CARGO_FLAGS)

lint:
	cargo clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps $(CARGO_FLAGS)

unit:
	cargo test --workspace $(CARGO_FLAGS)

# The Python package: the module that `cargo build` made beside the command line, whose results
# it is compared with, put into the package and the package into the virtual environment.
# `pip install ./python` builds the same with optimisation, and from scratch.
python: $(VENV)/.python-ready
	cargo build --workspace $(CARGO_FLAGS)
	cp target/debug/libl2g_python.$(if $(filter Darwin,$(shell uname)),dylib,so) python/local2global/_native.abi3.so
	$(PYTHON) -c "import pathlib, site; pathlib.Path(site.getsitepackages()[0], 'local2global.pth').write_text('$(abspath python)')"
	cd python && $(abspath $(PYTHON)) -m ruff check . ../benchmarks/python_align.py && $(abspath $(PYTHON)) -m ruff format --check .
	cd python && $(abspath $(PYTHON)) -m mypy && $(abspath $(PYTHON)) -m mypy.stubtest local2global._native
	cd python && $(abspath $(PYTHON)) -m pytest --quiet

$(VENV)/.python-ready: python/requirements-test.txt python/requirements-cluster.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet -r python/requirements-test.txt -r python/requirements-cluster.txt
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

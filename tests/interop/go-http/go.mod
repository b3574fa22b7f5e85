module udpa.test/interop/http

go 1.26.0

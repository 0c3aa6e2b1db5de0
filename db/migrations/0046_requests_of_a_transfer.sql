-- no-transaction
-- A ledger line of inference opens into the requests that its transfer charged. Built on one daily partition after the other.
create index concurrently inference_requests_transfer_idx on inference_requests (transfer_id, id) where transfer_id is not null;

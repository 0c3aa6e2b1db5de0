-- A claim has a holder, so that a worker whose claim ran out does not remove the claim of the worker that took the item over.

alter table loop_items add column holder uuid;
comment on column loop_items.holder is 'The runner that has claimed the item; null: none has.';

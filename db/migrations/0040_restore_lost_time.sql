-- Machines of the lost time may be seen long after the confirmation, because their cluster was unreachable. They are known by
-- their creation time.

alter table restore_state add column lost_from timestamptz;
comment on column restore_state.lost_from is 'The earliest point that this database was restored to. Rows that were written between it and confirmed_at may be lost.';

-- no-transaction
-- Steps of ended rentals are deleted by age. They are inserted in the order of time, so a small index suffices.
create index concurrently rental_steps_started_idx on rental_steps using brin (started_at);

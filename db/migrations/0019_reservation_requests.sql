-- Requests for large reservations: what tenants want that is not rented by a call, for operators to answer.

create table reservation_requests (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  user_id uuid not null references users (id) on delete restrict,
  gpu_count bigint not null check (gpu_count between 1 and 9007199254740991),
  created_at timestamptz not null
);
create index reservation_requests_org_idx on reservation_requests (org_id, mode, created_at);
-- For operators, who are shown what people meant and not what test keys tried.
create index reservation_requests_live_idx on reservation_requests (id) where mode = 'live';
revoke update, delete on reservation_requests from millrace_app;
comment on table reservation_requests is 'Who asked for a large reservation, and for how much. Append-only: the answer is given by people.';
comment on column reservation_requests.user_id is 'The person whose key asked.';

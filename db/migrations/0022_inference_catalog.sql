-- The catalog of inference: which models are offered, under which names, and the deployments that serve them; and the list
-- of what gateways must be told again.
--
-- Gateways never ask this database. What they need to know of keys, organisations and models is projected into a
-- key-value bucket of the broker, the gateway book. Each change here that touches an entry of it leaves a row in
-- book_changes in its own transaction, by trigger: whoever changes something, by whatever path, cannot forget to.

create table inference_models (
  name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$'),
  mode text not null check (mode in ('live', 'test')),
  modality text not null check (modality in ('chat', 'completion', 'image', 'audio')),
  input_modalities text[] not null check (
    cardinality(input_modalities) between 1 and 3 and input_modalities <@ array['text', 'image', 'audio']),
  context_length integer check (context_length > 0),
  max_output_tokens integer check (max_output_tokens > 0),
  owned_by text not null check (length(owned_by) between 1 and 100),
  enabled boolean not null,
  visible_to uuid[] check (cardinality(visible_to) between 1 and 1000),
  fallbacks text[] not null default '{}' check (cardinality(fallbacks) <= 8),
  requests_per_minute integer check (requests_per_minute > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
revoke update, delete on inference_models from millrace_app;
grant update (modality, input_modalities, context_length, max_output_tokens, owned_by, enabled, visible_to, fallbacks,
              requests_per_minute, updated_at) on inference_models to millrace_app;
comment on table inference_models is 'The models on offer. Never deleted: requests and prices name them. One that is switched off does not exist for tenants.';
comment on column inference_models.mode is 'live: sold, and mocked for test keys. test: for test keys alone.';
comment on column inference_models.max_output_tokens is 'The most that one answer may have where the request does not say; null is what the context leaves.';
comment on column inference_models.visible_to is 'The organisations that may know of it; null is everyone.';
comment on column inference_models.fallbacks is 'Models to take instead, in this order, when no deployment of it can. Their own fallbacks do not count.';
comment on column inference_models.requests_per_minute is 'Of each organisation; null is no limit of its own.';

create table inference_model_names (
  name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$'),
  model text not null references inference_models (name) on delete restrict
);
create index inference_model_names_model_idx on inference_model_names (model);
revoke update on inference_model_names from millrace_app;
comment on table inference_model_names is 'Every name that means a model, its own and its aliases: one table, so that a name never means two.';

create table inference_deployments (
  id uuid primary key,
  model text not null references inference_models (name) on delete restrict,
  engine text not null check (engine in (
    'vllm', 'sglang', 'llama.cpp', 'openai', 'openai-images', 'automatic1111', 'comfyui', 'speech', 'mock')),
  address text not null check (length(address) between 1 and 2048),
  upstream_model text not null check (length(upstream_model) between 1 and 200),
  sealed_api_key text check (length(sealed_api_key) <= 8192),
  region text not null check (length(region) between 1 and 64),
  weight integer not null check (weight between 0 and 1000),
  max_concurrency integer check (max_concurrency between 1 and 100000),
  enabled boolean not null,
  health text not null default 'unknown' check (health in ('unknown', 'healthy', 'degraded', 'down')),
  health_since timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index inference_deployments_model_idx on inference_deployments (model, id);
revoke update on inference_deployments from millrace_app;
grant update (address, upstream_model, sealed_api_key, region, weight, max_concurrency, enabled, health, health_since,
              updated_at) on inference_deployments to millrace_app;
comment on table inference_deployments is 'Engines that serve a model. What gateways route to; a row that goes is forgotten by them within a second.';
comment on column inference_deployments.upstream_model is 'The name by which the engine knows the model.';
comment on column inference_deployments.sealed_api_key is 'What the engine wants as a bearer token, sealed with the operator''s key; null when it wants none.';
comment on column inference_deployments.weight is 'Its share among the deployments of the model; 0 gets only what the others cannot take.';
comment on column inference_deployments.health is 'By a worker''s probes, for people to look at. Gateways judge by their own.';

create table book_changes (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('key', 'organisation', 'model')),
  ref text not null,
  changed_at timestamptz not null default clock_timestamp()
);
revoke insert, update on book_changes from millrace_app;
comment on table book_changes is 'Entries of the gateway book that are to be written anew. Filled by triggers, emptied by whoever has written the entry after reading it from here on.';
comment on column book_changes.ref is 'The public id of a key, the id of an organisation, the name of a model.';

create function note_changed_key() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into book_changes (kind, ref) values ('key', new.public_id);
  return null;
end $$;
comment on function note_changed_key() is 'A key that was made, revoked or given an end.';
create trigger api_keys_insert_noted after insert on api_keys
  for each row execute function note_changed_key();
create trigger api_keys_update_noted after update of scopes, limits, allowed_ips, expires_at, revoked_at, revoked_reason
  on api_keys for each row execute function note_changed_key();

create function note_keys_of_changed_user() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  changed record;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where user_id = changed.user_id and revoked_at is null
     and (tg_table_name <> 'members' or org_id = (to_jsonb(changed) ->> 'org_id')::uuid);
  return null;
end $$;
comment on function note_keys_of_changed_user() is 'What a key may do is cut with what its user may do, in its organisation and on the platform.';
create trigger members_noted after insert or delete or update of role on members
  for each row execute function note_keys_of_changed_user();
create trigger platform_roles_noted after insert or delete on platform_roles
  for each row execute function note_keys_of_changed_user();

create function note_changed_organisation() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into book_changes (kind, ref) values ('organisation', new.id::text);
  return null;
end $$;
comment on function note_changed_organisation() is 'An organisation that was made, suspended, resumed or has paid in.';
create trigger organisations_insert_noted after insert on organisations
  for each row execute function note_changed_organisation();
create trigger organisations_update_noted after update of status, funded_at on organisations
  for each row execute function note_changed_organisation();

create function note_keys_of_changed_budget() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  counted uuid[] := new.key_ids;
begin
  if tg_op = 'UPDATE' then
    if new.key_ids is not distinct from old.key_ids and new.on_exceeded = old.on_exceeded
       and new.deleted_at is not distinct from old.deleted_at then
      return null;
    end if;
    -- Null counts the whole organisation, before the change or after it.
    counted := case when old.key_ids is null or new.key_ids is null then null else old.key_ids || new.key_ids end;
  end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where org_id = new.org_id and mode = new.mode and revoked_at is null and (counted is null or id = any (counted));
  return null;
end $$;
comment on function note_keys_of_changed_budget() is 'Requests of these keys now count against other budgets.';
create trigger budgets_noted after insert or update of key_ids, on_exceeded, deleted_at on budgets
  for each row execute function note_keys_of_changed_budget();

create function note_changed_model() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  changed jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  insert into book_changes (kind, ref)
  values ('model', changed ->> case tg_table_name when 'inference_models' then 'name' else 'model' end);
  return null;
end $$;
comment on function note_changed_model() is 'A model, one of its names, deployments or prices has changed.';
create trigger inference_models_noted after insert or update or delete on inference_models
  for each row execute function note_changed_model();
create trigger inference_model_names_noted after insert or delete on inference_model_names
  for each row execute function note_changed_model();
create trigger inference_deployments_noted after insert or delete or update of address, upstream_model, sealed_api_key,
  region, weight, max_concurrency, enabled on inference_deployments
  for each row execute function note_changed_model();
create trigger prices_insert_noted after insert on prices
  for each row when (new.subject_kind = 'model') execute function note_changed_model();
create trigger prices_update_noted after update on prices
  for each row when (new.subject_kind = 'model') execute function note_changed_model();

-- Private clouds: machines that the operator runs for one organisation under a contract, outside of every engine of ours. To their
-- tenant they are rentals like others; nobody makes, watches, meters or removes machines for them.

alter table rentals
  add column private_cloud jsonb check (jsonb_typeof(private_cloud) = 'object'),
  add constraint rentals_private_clouds_are_bare_metal check (private_cloud is null or (kind = 'bare-metal' and mode = 'live')),
  add constraint rentals_private_clouds_are_not_placed check (private_cloud is null or allocation_id is null),
  drop constraint rentals_gpus_per_node_check,
  add constraint rentals_gpus_per_node_check check (gpus_per_node >= 1 and (gpus_per_node <= 64 or private_cloud is not null));
comment on column rentals.private_cloud is 'Of a private cloud: its nodes, how they are logged into, and the contract, as the operator told them. Null of all others.';

-- Private clouds are paid for by their contracts, so nobody misses a meter of them.
create or replace view metered_things as
  select case when kind = 'instance' then 'instance' else 'rental' end as kind, wire_id::text as id, org_id, mode
    from rentals
   where (status in ('Running', 'Unknown') or (status = 'Pending' and started_at is not null)) and private_cloud is null
  union all
  select 'volume', wire_id::text, org_id, mode from volumes where phase in ('live', 'frozen', 'leaving');

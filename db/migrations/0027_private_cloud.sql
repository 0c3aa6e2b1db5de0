-- Private clouds: machines that the operator runs for one organisation under a contract, outside of every engine of ours. To their
-- tenant they are rentals like others; nobody makes, watches, meters or removes machines for them.

alter table rentals
  add column private_cloud jsonb check (jsonb_typeof(private_cloud) = 'object'),
  add constraint rentals_private_clouds_are_bare_metal check (private_cloud is null or (kind = 'bare-metal' and mode = 'live')),
  add constraint rentals_private_clouds_are_not_placed check (private_cloud is null or allocation_id is null),
  drop constraint rentals_gpus_per_node_check,
  add constraint rentals_gpus_per_node_check check (gpus_per_node >= 1 and (gpus_per_node <= 64 or private_cloud is not null));
comment on column rentals.private_cloud is 'Of a private cloud: its nodes, how they are logged into, and the contract, as the operator told them. Null of all others.';

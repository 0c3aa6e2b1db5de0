-- The listing of the marketplace is kept in the memory of each api process. Each change here that touches a machine of it
-- leaves a row in listing_changes in its own transaction, by trigger: whoever changes something, by whatever path, cannot
-- forget to. The processes read what has come since they last looked, and nobody takes it away from the others.

create table listing_changes (
  xid xid8 not null default pg_current_xact_id(),
  node_id uuid not null
);
create index listing_changes_xid_idx on listing_changes (xid);
revoke insert, update on listing_changes from millrace_app;
comment on table listing_changes is 'Machines of the marketplace of which something has changed. Kept for as long as a reader may need to catch up.';
comment on column listing_changes.xid is 'The transaction that changed it. A reader asks for those that its last snapshot did not see: numbers are given out in another order than transactions commit, and one that commits late is missed by whoever asks for what comes after a number.';

-- Every sale, release and count of GPUs writes this row, and so does whatever opens or closes a node. Asked by the
-- trigger's own condition, so that machines outside the marketplace cost no call of a function.
create function note_listed_capacity() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id) values (new.node_id);
  return null;
end $$;
create trigger node_capacity_listed after insert or update on node_capacity
  for each row when (new.offer = 'marketplace') execute function note_listed_capacity();

create function note_listed_node() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id)
  select node_id from node_capacity where node_id = new.id and offer = 'marketplace';
  return null;
end $$;
create trigger nodes_listed
  after update of status, address, cpu_model, cpu_count, ram_mb, storage_gb, gpu_form_factor on nodes
  for each row when ((old.status, old.address, old.cpu_model, old.cpu_count, old.ram_mb, old.storage_gb, old.gpu_form_factor)
    is distinct from (new.status, new.address, new.cpu_model, new.cpu_count, new.ram_mb, new.storage_gb, new.gpu_form_factor))
  execute function note_listed_node();

create function note_listed_cluster() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id) select node_id from node_capacity where cluster_id = new.id;
  return null;
end $$;
create trigger clusters_listed
  after update of name, region, settings, offer, supplier_org_id, port_first, port_last, status on clusters
  for each row when (new.offer = 'marketplace'
    and (old.name, old.region, old.settings, old.offer, old.supplier_org_id, old.port_first, old.port_last, old.status)
      is distinct from (new.name, new.region, new.settings, new.offer, new.supplier_org_id, new.port_first, new.port_last, new.status))
  execute function note_listed_cluster();

create function note_listed_machine() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id) values (new.node_id);
  return null;
end $$;
create trigger supplier_machines_listed after insert or update on supplier_machines
  for each row when (new.node_id is not null) execute function note_listed_machine();

create function note_listed_supplier() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id)
  select node_id from supplier_machines
   where org_id = case tg_table_name when 'suppliers' then to_jsonb(new) ->> 'org_id' else to_jsonb(new) ->> 'id' end::uuid
     and node_id is not null;
  return null;
end $$;
comment on function note_listed_supplier() is 'Whether the machines of a supplier are shown depends on its own status and on that of its organisation.';
create trigger suppliers_listed after update of status on suppliers
  for each row when (old.status is distinct from new.status) execute function note_listed_supplier();
create trigger organisations_listed after update of status on organisations
  for each row when (old.status is distinct from new.status) execute function note_listed_supplier();

create function note_listed_instance() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
begin
  insert into listing_changes (node_id)
  select node_id from instances
   where rental_id = case tg_table_name when 'rentals' then to_jsonb(new) ->> 'id' else to_jsonb(new) ->> 'rental_id' end::uuid;
  return null;
end $$;
comment on function note_listed_instance() is 'What is rented on a machine is shown with its state, which is that of the rental and, while it is made, of its machine. That GPUs were sold or released is noted with the counts of the node.';
create trigger rentals_listed after update of status on rentals
  for each row when (new.kind = 'instance' and old.status is distinct from new.status) execute function note_listed_instance();
create trigger rental_machines_listed after update of state on rental_machines
  for each row when (old.state = 'wanted' and new.state is distinct from old.state) execute function note_listed_instance();

-- One role for each process, with the rights that its code needs. tools/lint/src/role-access.ts derives them, and
-- role-access.int.test.ts beside it compares the two. Logins are members of one of these roles, so that a login and its
-- password can be replaced while both are in use. Gateways have no database, and migrations run as the owner of the schema.

-- As in the first migration: roles belong to the whole server, and an administrator may create them beforehand.
do $$
declare
  name text;
begin
  foreach name in array array['millrace_api', 'millrace_worker', 'millrace_admin'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then
        execute format('create role %I nologin', name);
      end if;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise insufficient_privilege using message = format(
          'The role %s does not exist, and this login may not create it. Create it as docs/guides/connections.md says', name);
    end;
    begin
      -- Logins of earlier releases are members of millrace_app. With this, they can also use the new roles.
      if not pg_has_role('millrace_app', name, 'member') then
        execute format('grant %I to millrace_app', name);
      end if;
    exception
      -- The administrator grants it, or another database of this server did so at the same instant.
      when insufficient_privilege or unique_violation or internal_error then null;
    end;
  end loop;
end
$$;

grant usage on schema public to millrace_api, millrace_worker, millrace_admin;

-- Of a key, processes change only its expiry, its revocation and its last use, never its secret or its rights.
revoke update on api_keys from millrace_app;
grant update (expires_at, revoked_at, revoked_reason, next_action_at, last_used_at) on api_keys to millrace_app;

-- Rights on the columns that millrace_app has the same right on. No role has a right that millrace_app does not have.
create function pg_temp.grant_as_app(role text, operation text, tables text) returns void language plpgsql as $$
declare
  name text;
  columns text;
begin
  foreach name in array regexp_split_to_array(btrim(tables, E' \n'), '\s+') loop
    if has_table_privilege('millrace_app', 'public.' || name, operation) then
      execute format('grant %s on public.%I to %I', operation, name, role);
    else
      select string_agg(quote_ident(attname), ', ' order by attnum) into columns
        from pg_attribute
       where attrelid = ('public.' || name)::regclass and attnum > 0 and not attisdropped
         and has_column_privilege('millrace_app', attrelid, attnum, operation);
      execute format('grant %s (%s) on public.%I to %I', operation, columns, name, role);
    end if;
  end loop;
end
$$;

select pg_temp.grant_as_app(role, operation, tables) from (values
  ('millrace_api', 'select', '
    accounts allocated_gpus allocated_ports allocations api_keys audit_log audit_runs book_changes budgets
    cluster_comparisons clusters demo_mark device_codes entitlements event_heads events gpus id_blocks
    idempotency_keys inference_deployments inference_model_names inference_models inference_requests instances
    invitations invoices ledger_accounts ledger_entries ledger_hold_parts ledger_holds ledger_transfers
    listing_changes loop_items mail_refusals maintenance_nodes maintenance_notices maintenance_windows members
    meter_transitions meters node_capacity node_faults node_transitions nodes notice_mails notice_preferences notices
    organisations outbox passkeys payment_disputes payment_events payments platform_roles prices provider_regions
    providers rental_consoles rental_machines rental_samples rental_steps rental_terms rental_transitions rentals
    required_actions reservation_requests reserve_options schema_migrations sessions ssh_public_keys storage_addresses
    storage_nodes supplier_join_tokens supplier_machine_days supplier_machine_trust supplier_machines supplier_payouts
    supplier_statements suppliers two_factors users verifications volume_attachments volume_snapshots
    volume_transitions volumes webhook_deliveries webhook_queues webhooks written_off_clawbacks written_off_machines'),
  ('millrace_api', 'insert', '
    accounts allocated_gpus allocated_ports allocations api_keys audit_log budgets clusters demo_mark device_codes
    entitlements id_blocks idempotency_keys inference_deployments inference_model_names inference_models instances
    invitations ledger_accounts ledger_entries ledger_hold_parts ledger_holds ledger_transfers loop_items
    mail_refusals maintenance_nodes maintenance_notices maintenance_windows members meter_transitions meters
    node_faults node_transitions notice_mails notice_preferences notices organisations outbox passkeys
    payment_disputes payment_events payments prices rental_machines rental_steps rental_terms rental_transitions
    rentals required_actions reservation_requests reserve_options sessions ssh_public_keys storage_addresses
    supplier_join_tokens supplier_machines supplier_payouts suppliers two_factors users verifications
    volume_attachments volume_snapshots volume_transitions volumes webhook_deliveries webhook_queues webhooks
    written_off_machines'),
  ('millrace_api', 'update', '
    accounts allocated_gpus allocated_ports allocations api_keys budgets clusters device_codes entitlements gpus
    id_blocks idempotency_keys inference_deployments inference_models invitations ledger_accounts ledger_hold_parts
    ledger_holds loop_items maintenance_nodes maintenance_notices maintenance_windows members meters node_capacity
    nodes notice_mails notice_preferences organisations passkeys payment_disputes payment_events payments prices
    provider_regions providers rental_machines rental_steps rental_terms rentals required_actions sessions
    storage_nodes supplier_join_tokens supplier_machines supplier_payouts suppliers two_factors users verifications
    volume_attachments volume_snapshots volumes webhook_deliveries webhook_queues webhooks'),
  ('millrace_api', 'delete', '
    accounts book_changes device_codes idempotency_keys inference_deployments inference_model_names invitations
    listing_changes loop_items mail_refusals members notice_preferences passkeys sessions ssh_public_keys
    storage_addresses two_factors users verifications'),
  ('millrace_worker', 'select', '
    allocated_gpus allocated_ports allocations api_keys audit_log audit_marks audit_runs book_changes budgets
    cluster_comparisons cluster_observers clusters demo_mark event_heads events fabrics gpus id_blocks
    idempotency_keys inference_checkpoints inference_deployments inference_model_names inference_models
    inference_requests instances invoice_counter invoice_gaps invoice_months invoices ledger_accounts ledger_entries
    ledger_hold_parts ledger_holds ledger_transfers listing_changes loop_items maintenance_nodes maintenance_notices
    maintenance_windows members meter_shards meter_transitions metered_things meters mock_machines node_capacity
    node_faults node_transitions nodes notice_mails notice_preferences notices organisations outbox payment_disputes
    payment_events payments platform_roles pot_gateways pot_lease_budgets pot_lease_gateways pot_leases pot_servers
    pots prices provider_regions providers relay_leases relays rental_consoles rental_idleness rental_machines
    rental_samples rental_steps rental_terms rental_transitions rentals required_actions restore_state sample_shards
    schema_migrations storage_addresses storage_nodes stray_machines supplier_join_tokens supplier_machine_days
    supplier_machine_trust supplier_machines supplier_payouts supplier_statements suppliers usage_charges
    usage_deferred usage_sinks usage_unreadable usage_watermarks users volume_attachments volume_snapshots
    volume_transitions volumes wallet_ladders webhook_deliveries webhook_queues webhooks written_off_clawbacks
    written_off_machines'),
  ('millrace_worker', 'insert', '
    allocated_gpus allocated_ports allocations audit_log audit_marks audit_runs cluster_comparisons cluster_observers
    clusters demo_mark event_heads events fabrics gpus id_blocks inference_checkpoints inference_requests invoice_gaps
    invoice_months invoices ledger_accounts ledger_entries ledger_hold_parts ledger_holds ledger_transfers loop_items
    maintenance_notices meter_transitions meters mock_machines node_capacity node_faults node_transitions nodes
    notice_mails notices outbox payment_disputes payment_events payments pot_gateways pot_lease_budgets
    pot_lease_gateways pot_leases pot_servers pots provider_regions providers relay_leases relays rental_consoles
    rental_idleness rental_machines rental_samples rental_steps rental_terms rental_transitions required_actions
    storage_addresses storage_nodes stray_machines supplier_machine_days supplier_machine_trust supplier_statements
    usage_charges usage_deferred usage_sinks usage_unreadable usage_watermarks volume_transitions wallet_ladders
    webhook_deliveries'),
  ('millrace_worker', 'update', '
    allocated_gpus allocated_ports allocations api_keys audit_marks budgets cluster_comparisons cluster_observers
    clusters event_heads events gpus id_blocks idempotency_keys inference_checkpoints inference_deployments
    inference_requests invoice_counter invoice_months ledger_accounts ledger_hold_parts ledger_holds loop_items
    maintenance_nodes maintenance_notices maintenance_windows members meter_shards meters mock_machines node_capacity
    nodes notice_mails notices organisations outbox payment_disputes payment_events payments pot_gateways
    pot_lease_budgets pot_lease_gateways pot_leases pot_servers pots provider_regions providers relay_leases relays
    rental_consoles rental_idleness rental_machines rental_steps rental_terms rentals required_actions restore_state
    sample_shards storage_nodes stray_machines supplier_machine_days supplier_machine_trust supplier_machines
    usage_deferred usage_sinks usage_watermarks volume_attachments volume_snapshots volumes wallet_ladders
    webhook_deliveries webhook_queues webhooks written_off_machines'),
  ('millrace_worker', 'delete', '
    audit_runs book_changes cluster_observers events idempotency_keys inference_checkpoints loop_items mock_machines
    notices outbox pot_gateways relays rental_consoles rental_samples storage_addresses stray_machines
    supplier_machine_days usage_deferred webhook_deliveries webhook_queues webhooks'),
  ('millrace_admin', 'select', '
    accounts allocated_gpus allocated_ports allocations api_keys audit_log audit_marks audit_runs budgets
    cluster_comparisons clusters device_codes gpus id_blocks inference_requests invitations invoice_counter
    invoice_gaps invoice_months invoices ledger_accounts ledger_entries ledger_hold_parts ledger_holds
    ledger_transfers maintenance_nodes maintenance_windows members meter_transitions metered_things meters
    mock_machines node_capacity nodes organisations outbox passkeys payments platform_roles pot_lease_budgets
    pot_leases prices providers rental_machines rental_terms rentals restore_state schema_migrations sessions
    ssh_public_keys stray_machines supplier_payouts supplier_statements suppliers two_factors usage_charges
    usage_unreadable users verifications volume_snapshots volumes written_off_machines'),
  ('millrace_admin', 'insert', '
    accounts api_keys audit_log audit_marks audit_runs cluster_comparisons device_codes id_blocks invitations members
    mock_machines organisations outbox passkeys platform_roles sessions two_factors users verifications'),
  ('millrace_admin', 'update', '
    accounts audit_marks cluster_comparisons device_codes id_blocks invitations members mock_machines organisations
    passkeys platform_roles restore_state sessions ssh_public_keys two_factors users verifications'),
  ('millrace_admin', 'delete', '
    accounts audit_runs device_codes invitations mock_machines passkeys sessions ssh_public_keys two_factors users
    verifications')
) as rights (role, operation, tables);

drop function pg_temp.grant_as_app(text, text, text);

-- Workers empty the partition of samples of the day that begins, and create the partitions of usage.
do $$
begin
  for slot in 0..8 loop
    execute format('grant truncate on rental_samples_%s to millrace_worker', slot);
  end loop;
end
$$;
grant execute on function make_usage_partitions to millrace_worker;

-- Numbers that rows get when they are inserted.
grant usage, select on all sequences in schema public to millrace_api, millrace_worker, millrace_admin;

-- PostgreSQL searches temporary tables first unless the path names them. Then a login could run code as the owner of a function: with
-- a temporary table that has the name of a table of the schema, and a trigger. Functions that set the path without
-- the rights of their owner are included too, because triggers of the other functions call them. The other settings of the functions remain.
do $$
declare
  changed regprocedure;
begin
  for changed in
    select oid from pg_proc
     where pronamespace = 'public'::regnamespace
       and (prosecdef or exists (select from unnest(proconfig) as setting where setting like 'search_path=%'))
  loop
    execute format('alter function %s set search_path = pg_catalog, public, pg_temp', changed);
  end loop;
end
$$;

-- No process needs temporary tables. The owner of the database keeps the right.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
exception
  -- The owner of the schema does not own the database: an administrator revokes it.
  when insufficient_privilege then null;
end
$$;

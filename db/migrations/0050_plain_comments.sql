-- Comments in plain English. Nothing else changes.

comment on function check_invoice_counter() is
  'Allows the invoice counter to grow by one only, or to skip numbers that a restore lost.';
comment on function check_invoice_number() is
  'Allows an invoice only the number that the counter shows.';
comment on function check_invoice_number_used() is
  'Refuses a number that has neither an invoice nor a recorded gap of a restore.';
comment on function check_ledger_entries() is
  'Refuses transfers whose entries do not sum to zero, and entries that disagree with the stored balance.';
comment on function collect_notices() is
  'Stores a notice for each event that people receive by email.';
comment on function fan_out_to_webhooks() is
  'Inserts a delivery of each new event for every subscribed webhook, in the statement that stores the event.';
comment on function first_id_of_day(day date) is
  'The smallest UUIDv7 of a UTC day: the lower bound of its partition.';
comment on function hold_storage_addresses(of_rentals uuid[]) is
  'Assigns each machine of rentals with volumes its private address, unless another machine of the region has it.';
comment on function invoice_lines_total(lines jsonb) is
  'The sum of the lines of an invoice.';
comment on function keep_price() is
  'Keeps the price list append-only for every role, the owner included: a price never changes, and an ended price never becomes valid again.';
comment on function make_usage_partitions(first_day date, days integer) is
  'Creates the daily partitions of usage_charges and inference_requests in advance. The only schema change that the processes may make.';
comment on function note_changed_key() is
  'Queues an API key for the key feed when it is created, revoked or given an expiry.';
comment on function note_changed_model() is
  'Queues a model for the key feed when the model, one of its names, deployments or prices changes.';
comment on function note_changed_organisation() is
  'Queues an organisation for the key feed when it is created, suspended, resumed or funded.';
comment on function note_keys_of_changed_budget() is
  'Queues the keys of a changed budget: their requests now count against other budgets.';
comment on function note_keys_of_changed_user() is
  'Queues the keys of a user whose roles changed: a key never has more scopes than its user.';
comment on function note_listed_instance() is
  'Queues a machine for the marketplace list when the state of an instance on it changes. Changes of free GPUs are queued with the counts of the node.';
comment on function note_listed_supplier() is
  'Queues the machines of a supplier: their visibility depends on the status of the supplier and of its organisation.';
comment on function pool_of(mode text, offer text, region text, gpu_type text, connection_type text) is
  'One number for the columns that placement matches exactly.';
comment on function refuse_ledger_change() is
  'Keeps the ledger append-only for every role, the owner included.';
comment on function uuid_of_public_id(public_id text) is
  'The UUID encoded in a public id such as trf_01J…; null if the id is malformed.';
comment on function webhook_delivery_id(event_id uuid, webhook_id uuid) is
  'The id of the delivery of an event to a webhook. Deterministic.';
comment on table allocated_gpus is
  'GPUs held by allocations. A GPU has at most one row that is not released.';
comment on column allocated_gpus.mode is
  'The mode of the allocation and of the node. The counting trigger refuses a difference.';
comment on table allocated_ports is
  'Ports of a node''s address that forward to machines on it.';
comment on table allocations is
  'GPUs reserved for one rental or instance on its nodes.';
comment on column allocations.external_id is
  'The machine''s id at the driver. At most one live allocation has it; another one may be releasing after a move.';
comment on column allocations.state is
  'releasing: the engine has not confirmed that the machine is deleted, so its GPUs cannot be sold.';
comment on column allocations.frees_at is
  'The planned end, if there is one.';
comment on column api_keys.public_id is
  'The part of the key that may be shown and logged. Look-ups use it.';
comment on column api_keys.scopes is
  'The greatest scopes of this key; the effective ones are the intersection with the scopes of its user''s current role.';
comment on column api_keys.limits is
  'Spending, rate, model, region and GPU limits in the contract''s format; {} means none.';
comment on column api_keys.allowed_ips is
  'Networks from which the key is accepted; empty means any.';
comment on column api_keys.expires_at is
  'The key is refused from this time on, even before the expiry is recorded as a revocation.';
comment on column api_keys.last_used_at is
  'Accurate to about a minute; updated after the request.';
comment on column api_keys.next_action_at is
  'When the expiry must be recorded and announced. Set if and only if an unrevoked key expires, so that a sweep can recover a timer that the workflow engine lost.';
comment on column api_keys.kind is
  'seat: not a real key, but the identity of a signed-in member; one per organisation, member and mode. Its secret is unknown, and no operation lists, counts, rotates or revokes it.';
comment on table audit_log is
  'Every change, with its actor and origin. Written in the transaction of the change; never updated or deleted.';
comment on column audit_log.org_id is
  'The organisation concerned; null for changes of the installation itself.';
comment on column audit_log.actor_id is
  'Text form of the actor''s id, or the name of a system component.';
comment on column audit_log.before is
  'The changed fields before the change. Contains no secrets.';
comment on column audit_log.after is
  'The changed fields after the change. Contains no secrets.';
comment on column audit_log.reason is
  'The reason given by the actor, where the operation requires one.';
comment on table audit_marks is
  'The state of each account in the newest clean audit, written in that audit''s snapshot.';
comment on table audit_runs is
  'Completed audits with their scope and findings. An incremental audit continues from the newest clean one.';
comment on column audit_runs.snapshot_at is
  'By the database''s clock: the audit read everything committed before this time.';
comment on column audit_runs.since is
  'Incremental audits only: the time of the clean audit that this one continues.';
comment on column audit_runs.looked_at is
  'The number of rows that each check read.';
comment on column audit_runs.findings is
  'The first findings of each check, errors and notices, as reported.';
comment on table book_changes is
  'Entries of the key feed that must be published again. Triggers insert rows; the publisher reads a row first, then the entry, and deletes the row after publishing.';
comment on column book_changes.ref is
  'The public id of a key, the id of an organisation, or the name of a model.';
comment on table budgets is
  'Spending limits per period. The limit account with the same id has the remaining amount.';
comment on column budgets.key_ids is
  'The API keys that count against the budget, with the keys that replaced them; null: the whole organisation.';
comment on column budgets.period_start is
  'Start of the period that the limit account counts. The first posting or hold after the period''s end advances it.';
comment on column budgets.on_exceeded is
  'notify: only sends notices. stop_new_work: refuses new holds. stop_everything: also refuses to extend running work.';
comment on column budgets.is_key_limit is
  'Created from limits.budget of an API key. Cannot be changed or deleted while one of its keys is in use.';
comment on table cluster_comparisons is
  'State of the inventory comparison of each cluster: its worker, its last start and its last complete success.';
comment on column cluster_comparisons.turn is
  'Fencing token: grows with each comparison. Results of an older comparison are discarded.';
comment on column cluster_comparisons.looked_at is
  'Start of the newest comparison, whether or not the engine responded.';
comment on column cluster_comparisons.watching_since is
  'Start of the present series of comparisons without a gap. An engine counts as silent from here at the earliest.';
comment on column cluster_comparisons.whole_at is
  'Start of the newest comparison that the engine answered and whose findings are all stored: the last healthy time of every machine of the cluster without a fault.';
comment on column cluster_comparisons.problem is
  'Why the newest comparison was incomplete; null if it was complete.';
comment on column cluster_comparisons.reap_allowed_until is
  'Until when an operator allows the removal of more orphans than the automatic limit.';
comment on table cluster_observers is
  'The processes that observe clusters, so that they can divide the clusters among themselves.';
comment on column clusters.credential_ref is
  'The name of a configured secret, never the secret itself.';
comment on column clusters.settings is
  'Further settings of the driver.';
comment on column clusters.offer is
  'The product as which its nodes are sold.';
comment on column clusters.connection_type is
  'Network connection of its nodes, unless the engine reports another one for a node.';
comment on column clusters.port_first is
  'With port_last: the range of ports of a node''s address that machines can use.';
comment on column clusters.configured is
  'False after the configuration stopped naming the cluster: it sells nothing and is still observed.';
comment on column clusters.observer is
  'The process that observes the cluster; its claim ends at observer_until unless renewed.';
comment on column clusters.watching_since is
  'Start of the present observation without a gap. An engine counts as silent from here at the earliest.';
comment on column clusters.beat_at is
  'When the observer last read the engine, whether or not the engine responded.';
comment on table device_codes is
  'Programs, such as a terminal, that wait for a person to sign them in. A row is deleted when its sign-in is claimed.';
comment on column device_codes.device_code is
  'SHA-256 of the program''s code, in hex.';
comment on column device_codes.requested_ip is
  'The address of the program, shown to the person who approves.';
comment on column device_codes.requested_agent is
  'The program''s description of itself.';
comment on table entitlements is
  'The discounts that an organisation may claim. A claim above the greatest matching discount is refused.';
comment on column entitlements.mode is
  'Always live: test mode is free and needs no discount.';
comment on column entitlements.revoked_at is
  'Withdrawn by the operator. Existing sales keep their frozen price.';
comment on table event_heads is
  'One row per organisation with events. Its row lock serialises the writers of the feed.';
comment on column event_heads.org_id is
  'No foreign key: the transaction that wrote the event has checked the organisation.';
comment on column event_heads.last_seq is
  'Number of the newest event. Updated by the statement that stores the events, so it never exceeds them.';
comment on column event_heads.first_seq is
  'Number of the oldest stored event. A reader with an older cursor gets an error instead of a silent gap.';
comment on table events is
  'The event feed of every organisation, in order. Only the relay inserts rows; updates record publication only; only retention deletes rows.';
comment on column events.seq is
  'Numbers from 1 within the organisation, without gaps. Assigned after the cause has committed, by the relay that holds the shard.';
comment on column events.id is
  'The id of the outbox row, so that an event is stored once; JetStream discards duplicates by it.';
comment on column events.mode is
  'live or test. Test keys read test events only.';
comment on column events.shard is
  'As in the outbox, so that a relay finds its unpublished events.';
comment on column events.api_version is
  'The API version of the data''s format.';
comment on column events.occurred_at is
  'Time of the cause, by the clock of the process that wrote it.';
comment on column events.recorded_at is
  'When the event got its number, by the database''s clock. Retention uses this time.';
comment on column events.published_at is
  'When JetStream acknowledged the event; null: not yet published.';
comment on column events.data is
  'The event''s data, at most 256 KiB, well below the NATS message limit. Contains no secrets.';
comment on table fabrics is
  'Groups of nodes on one fast network, which can be rented together.';
comment on column gpus.device_uuid is
  'The manufacturer''s id of the device. A different id at the same address is a different GPU: the old row becomes replaced.';
comment on column gpus.gpu_type is
  'The type as which the GPU is sold; null: a model that rentals do not offer.';
comment on column gpus.state is
  'Only present GPUs are sold. missing: the engine does not list it. faulty: withdrawn by an operator or a failed check.';
comment on table id_blocks is
  'Blocks of 1048576 32-bit wire ids assigned to this cell. Block n always belongs to cell n mod 64, so cells need no coordination.';
comment on column id_blocks.kind is
  'Rentals and volumes have separate ids.';
comment on column id_blocks.block is
  'The block holds the ids from block * 1048576 up to the next block; id 0 is never assigned.';
comment on column id_blocks.next_id is
  'The first id of the block that no process has. Equal to the start of the next block when this one is used up.';
comment on table idempotency_keys is
  'One row per effect made under an Idempotency-Key, in the transaction of the effect. Refused requests leave no row.';
comment on column idempotency_keys.operation_row_id is
  'The public id (op_…) of this operation.';
comment on column idempotency_keys.operation_id is
  'The operation of the contract.';
comment on column idempotency_keys.status is
  'HTTP status of the response. Null only inside the transaction that makes the effect.';
comment on column idempotency_keys.body is
  'The response to replay, without secrets that are shown once.';
comment on column idempotency_keys.resource_kind is
  'The kind of resource that the operation created or changed.';
comment on column idempotency_keys.resource_id is
  'The public id of the resource that the operation created or changed.';
comment on column idempotency_keys.expires_at is
  'From this time on the row may be deleted and the key reused.';
comment on table inference_checkpoints is
  'Progress of running requests, as last reported by their gateway. Deleted by the final event; charged only if the gateway dies.';
comment on table inference_deployments is
  'Engines that serve a model. Gateways stop routing to a deleted deployment within a second.';
comment on column inference_deployments.upstream_model is
  'The engine''s name of the model.';
comment on column inference_deployments.sealed_api_key is
  'The bearer token for the engine, encrypted with the operator''s key; null if the engine needs none.';
comment on column inference_deployments.weight is
  'Share among the deployments of the model; 0 receives only requests that the others cannot take.';
comment on column inference_deployments.health is
  'Result of a worker''s probes, for operators. Gateways use their own measurements.';
comment on table inference_model_names is
  'Every name and alias of a model, in one table, so that a name identifies one model.';
comment on table inference_models is
  'Models on offer. Never deleted, because requests and prices refer to them. A disabled model does not exist for tenants.';
comment on column inference_models.mode is
  'live: sold, and mocked for test keys. test: for test keys only.';
comment on column inference_models.max_output_tokens is
  'Output limit for requests that set none; null: the rest of the context.';
comment on column inference_models.visible_to is
  'The organisations that can see the model; null: all.';
comment on column inference_models.fallbacks is
  'Models to use instead, in this order, if no deployment is available. Fallbacks of fallbacks are not used.';
comment on column inference_models.requests_per_minute is
  'Limit per organisation; null: no limit for this model.';
comment on table inference_requests is
  'One row per admitted inference request, written once by the sink. Contains no text of prompts or completions. Partitioned by the day in its id; the worker creates partitions in advance.';
comment on column inference_requests.reserved_nano_usd is
  'The greatest possible cost, reserved before the request started.';
comment on column inference_requests.priced_nano_usd is
  'The measured usage at its prices. The operator absorbs the part above the cost.';
comment on column inference_requests.cost_nano_usd is
  'The charge to the organisation. Never above the reservation.';
comment on column inference_requests.price_ids is
  'The entries of the price list that were applied.';
comment on column inference_requests.source is
  'checkpoint: the gateway died, and its last checkpoint was charged as the final usage.';
comment on column inference_requests.outcome is
  'As in usage_charges; free: test mode is not charged.';
comment on column inference_requests.late_nano_usd is
  'Cost reported by a final event that arrived after a checkpoint had been charged: recorded, never charged.';
comment on table inference_requests_rest is
  'Rows that arrived before the partition of their day existed. Creating the partition moves them.';
comment on table instances is
  'The fields that marketplace instances have beyond a rental: the name and the machine''s record at the time of renting. Append-only: the rental has the state.';
comment on column instances.record is
  'The machine''s marketplace record at the time of renting, without its instances.';
comment on table invitations is
  'Invitations by email to join an organisation.';
comment on column invitations.status is
  'An expired invitation stays pending; only the clock tells. The spelling "canceled" is the sign-in library''s.';
comment on column invitations.created_at is
  'Time of the first invitation; inviting the same address again only renews expires_at.';
comment on column invitations.notice_id is
  'The newest email of the invitation, cancelled with it. No foreign key: emails are deleted by retention.';
comment on column invitations.answered_at is
  'When the invitation was accepted, declined or withdrawn.';
comment on table invoice_counter is
  'The number of the newest invoice. Creating an invoice locks its only row.';
comment on table invoice_gaps is
  'Numbers of invoices issued after the point to which the database was restored. They are never assigned again.';
comment on table invoice_months is
  'Progress of the invoice run of a month. Only saves work: an invoice row decides whether an organisation has its invoice.';
comment on column invoice_months.after_org is
  'All organisations up to this one are done; null at the start.';
comment on column invoice_months.has_failed is
  'An invoice of this run failed, so the run starts again at its end.';
comment on table invoices is
  'Charges of the ledger in a month (UTC) less refunds. Written once, when no more entries of the month are possible, and never changed by any role.';
comment on column invoices.mode is
  'Always live: test mode is free and has no invoices.';
comment on column invoices.number is
  'Numbers from 1 without gaps over all organisations, in the order of creation.';
comment on column invoices.billed_to is
  'The organisation''s name at the time of the invoice.';
comment on column invoices.issuer is
  'The issuer as configured at the time of the invoice: a name, then address lines.';
comment on table ledger_accounts is
  'Accounts with stored balances. A trigger on the entries refuses a balance that disagrees with them.';
comment on column ledger_accounts.kind is
  'credit and promo: money that an organisation can spend. supplier_payable: earnings of a supplier. limit: the remaining amount of a budget. The others belong to the operator and are sharded.';
comment on column ledger_accounts.mode is
  'live or test. No transfer mixes the two.';
comment on column ledger_accounts.product is
  'Revenue accounts only: the product sold.';
comment on column ledger_accounts.shard is
  'Operator accounts only: one of 16 rows that together form the account, so that batches do not wait for one row.';
comment on column ledger_accounts.held_nano_usd is
  'The part of the balance reserved by open holds.';
comment on column ledger_accounts.floor_nano_usd is
  'balance minus held never falls below this; null: no floor. The negative of the overdraft that the operator allows.';
comment on column ledger_accounts.entry_count is
  'The number of entries, and the account_seq of the newest.';
comment on column ledger_accounts.priority is
  'Lower is spent first; then earlier expiry; then the older account.';
comment on column ledger_accounts.expires_at is
  'Promotional credit only: cannot be spent from this time on. Amounts already held can still be posted.';
comment on column ledger_accounts.frozen_at is
  'Set by a disputed payment: no new work is admitted until the operator lifts it.';
comment on column ledger_accounts.has_companions is
  'Credit only: the organisation has had promotional credit or a budget. Most have neither, and a batch then skips the look-up.';
comment on column ledger_accounts.owed_nano_usd is
  'Credit only: debt from clawbacks that the balance did not cover. New credit repays it first.';
comment on column ledger_accounts.written_off_nano_usd is
  'Credit only: uncovered clawbacks that the operator does not claim, all from before debts were recorded.';
comment on table ledger_entries is
  'The entries of transfers: one account each, summing to zero. Append-only.';
comment on column ledger_entries.account_seq is
  'Numbers the entries of the account from 1 without gaps, so that a missing entry is detected.';
comment on column ledger_entries.balance_after_nano_usd is
  'The account''s balance after this entry. The entries of an account form a chain.';
comment on table ledger_hold_parts is
  'The amount of a hold per account. Parts in credit and promo sum to the hold; a part in a limit account equals the hold.';
comment on table ledger_holds is
  'Money reserved for a future charge. A hold never expires: its owner posts from it, resizes it and closes it.';
comment on column ledger_holds.key_id is
  'The API key that caused it; the budgets of the key hold the same amount.';
comment on column ledger_holds.held_nano_usd is
  'The amount reserved now.';
comment on column ledger_holds.posted_nano_usd is
  'The amount charged through the hold so far, including charges above the hold.';
comment on column ledger_holds.closed_at is
  'A closed hold accepts no postings.';
comment on column ledger_transfers.org_id is
  'The organisation whose ledger shows the transfer. No foreign keys here: each check would lock a row of another table for each posting. The auditor checks instead.';
comment on column ledger_transfers.idempotency_key is
  'Starts with the cause (kind:id:step), so the unique index also finds all charges of a cause.';
comment on column ledger_transfers.amount_nano_usd is
  'Change of the organisation''s own money (credit and promotional credit); for a payout, change of its earnings.';
comment on column ledger_transfers.balance_after_nano_usd is
  'The organisation''s own money after the transfer.';
comment on column ledger_transfers.hold_id is
  'The hold that paid for the transfer, if any.';
comment on column ledger_transfers.reverses is
  'Refunds and reversals: the transfer that they undo, partly or fully.';
comment on column ledger_transfers.key_id is
  'The API key that caused the charge, if there is exactly one.';
comment on column ledger_transfers.usage is
  'The usage charged, in whole units: {"gpuMs": …} or {"requests": …, "promptTokens": …}.';
comment on table listing_changes is
  'Changed machines of the marketplace. Rows are stored for as long as a reader may need to catch up.';
comment on column listing_changes.xid is
  'The transaction of the change. A reader selects the transactions that its last snapshot did not include: sequence numbers do not follow the order of commits, so a late commit would be missed.';
comment on table loop_items is
  'Items of a loop that are claimed by a worker, or that failed and wait for a retry. A successful item has no row.';
comment on column loop_items.failures is
  'Consecutive failures; 0 for an item that is only claimed.';
comment on column loop_items.free_at is
  'When the item can be claimed: the end of the claim or of the backoff.';
comment on column loop_items.failing_since is
  'Time of the first consecutive failure.';
comment on column loop_items.problem is
  'The last error, for operators.';
comment on column loop_items.holder is
  'The runner that has claimed the item, or null.';
comment on table mail_refusals is
  'Email addresses that refuse invitations. A link in the invitation sets and unsets the refusal.';
comment on table maintenance_nodes is
  'The nodes of each maintenance window. Changing hold requires a lock on the node''s row.';
comment on column maintenance_nodes.hold is
  'waiting: not drained yet. held: drained by the window, which will return it. left: another decision applies, or the node was returned.';
comment on table maintenance_notices is
  'The allocations affected by a window, and the last notice sent to their organisation.';
comment on table maintenance_windows is
  'Announced times in which nodes are unavailable.';
comment on column maintenance_windows.summary is
  'Description of the work for tenants.';
comment on column maintenance_windows.drains_at is
  'From this time on nothing new is placed on the nodes.';
comment on column maintenance_windows.ended_at is
  'The actual end: ends_at, or earlier if cancelled. Before starts_at: the window never started.';
comment on table members is
  'Members of organisations with their roles. Every organisation has at least one owner.';
comment on column members.role is
  'Name of a set of scopes; the contract defines the sets.';
comment on table meter_shards is
  'When each shard was last swept, so that workers share the shards. Saves duplicate work; not a lock.';
comment on table meter_transitions is
  'The running intervals of each meter. Append-only: the total cost of a meter follows from these rows and its frozen rate.';
comment on column meter_transitions.seq is
  'Numbers from 1 within the meter without gaps.';
comment on column meter_transitions.at is
  'The effective time. A pause or close may be earlier than the previous transition: a running interval ends at the earliest time that any later pause or close names.';
comment on column meter_transitions.recorded_at is
  'When the row was written, by the clock of the process.';
comment on table rentals is
  'Machines sold to tenants: virtual machines, bare metal and marketplace instances share one mechanism; kind distinguishes them.';
comment on column rentals.id is
  'Also externalId in the API and, for the first machine, the machine''s name at the engine.';
comment on column rentals.wire_id is
  'The 32-bit id in the API.';
comment on column rentals.provider_id is
  'The provider of its current machines.';
comment on column rentals.cuda is
  'Minimum CUDA version of its nodes as a number: 12.8 is 1208.';
comment on column rentals.image is
  'The requested image; null: the default of the cluster.';
comment on column rentals.user_data is
  'The tenant''s start-up script. Run once after the readiness proof, then deleted; kept while a running machine has not received it.';
comment on column rentals.ssh_keys is
  'The tenant''s public keys at the time of the order, one line of authorized_keys each.';
comment on column rentals.labels is
  'Passed to the engine; the mock engine reads injected faults from them. Filled from tags in test mode only.';
comment on column rentals.disk_price is
  'Frozen price of the disk while the rental is released.';
comment on column rentals.task is
  'The operation in progress. At most one; release overrides the others.';
comment on column rentals.task_deadline_at is
  'The task fails if it is not done by this time.';
comment on column rentals.gpu_held is
  'False after a stop that released the GPUs.';
comment on column rentals.attempt is
  'Number of placements so far. Each machine stores its attempt.';
comment on column rentals.first_attempt is
  'First attempt of the current task: each task may move to another host once.';
comment on column rentals.allocation_id is
  'The current allocation of GPUs.';
comment on column rentals.trouble_since is
  'The last healthy time before the engine became silent or the machine missing; null while healthy.';
comment on column rentals.billing_paused_at is
  'From when its meters are paused because of that fault.';
comment on column rentals.end_accepted_at is
  'When the termination was accepted; billing ends there. Null: it failed before a termination.';
comment on column rentals.expires_at is
  'The end of its TTL.';
comment on column rentals.max_nano_usd is
  'Spending limit: the rental is terminated before it costs more.';
comment on column rentals.told_expiring_at is
  'The due time of the newest rental.expiring event, so that each is sent once.';
comment on column rentals.next_action_at is
  'When any worker must reconcile the rental again.';
comment on column rentals.deadline_at is
  'When that reconciliation counts as late and raises an alert.';
comment on column rentals.version is
  'Grows with each change. A decision based on an older version is made again.';
comment on column rentals.supplier_rate_nano_usd_per_hour is
  'The supplier''s share of the rate of all GPUs, after the operator''s fee.';
comment on column rentals.told_as is
  'Instances only: the public identity used in events (name, machine and cluster as the marketplace shows them).';
comment on column rentals.private_cloud is
  'Private cloud only: nodes, sign-in details and contract as entered by the operator; otherwise null.';
comment on table volumes is
  'Storage sold to tenants. A volume is one file system, one server process and one address.';
comment on column volumes.id is
  'Also externalId in the API and the name at the storage backend.';
comment on column volumes.wire_id is
  'The 32-bit id in the API.';
comment on column volumes.vip is
  'The address that serves the volume. Unique among the unpurged volumes of its node.';
comment on column volumes.label is
  'Unique in the organisation among volumes that are not deleted.';
comment on column volumes.size_gb is
  'The size confirmed by the backend, which is billed.';
comment on column volumes.hold_id is
  'The hold taken by the order, until the first meter takes it over.';
comment on column volumes.grow_to_gb is
  'The requested larger size, with its price and hold, until the backend confirms it.';
comment on column volumes.grow_by is
  'The growth fails if it is not done by this time.';
comment on column volumes.max_nano_usd is
  'Spending limit: the volume is deleted before it costs more, retention included.';
comment on column volumes.phase is
  'provisioning: being created. live: usable. frozen: retained without money, can become live again. leaving: deleted, data retained. purging: data is being deleted. purged: data deleted.';
comment on column volumes.status is
  'The status in the contract. unknown: the backend of an active volume is silent.';
comment on column volumes.started_at is
  'When the volume first became usable; billing starts here.';
comment on column volumes.end_accepted_at is
  'When the deletion was accepted.';
comment on column volumes.purge_at is
  'When the data is deleted. Billing ends here.';
comment on column volumes.wish_seq is
  'Version of the spec that the backend must serve.';
comment on column volumes.served_seq is
  'The newest spec version that the backend confirmed.';
comment on column volumes.served_clients is
  'Addresses that may have access at the backend. Extended before the backend is asked, shortened after it has confirmed.';
comment on column volumes.trouble_since is
  'Since when the backend has failed to confirm the spec.';
comment on column volumes.version is
  'Grows with each change. A decision based on an older version is made again.';
comment on column volumes.restore_id is
  'The restore into this volume that the backend has not yet confirmed. The backend stores the id, so that a restore happens once.';
comment on column volumes.restore_snapshot_id is
  'The snapshot to restore.';
comment on column volumes.restore_volume_id is
  'The volume of the snapshot; the same volume for a restore in place.';
comment on column volumes.restore_by is
  'After this time the backend is only asked whether the restore was done.';
comment on view metered_things is
  'Resources that must have an open or paused meter now. Each kind of resource adds its rows.';
comment on table meters is
  'Resources billed by the hour. Cost = rate x elapsed time, rounded down once; a charge is the cost less the amount already posted.';
comment on column meters.shard is
  'The shard of the organisation, as in the outbox. Sweeps use it.';
comment on column meters.cause_kind is
  'With cause_id: the metered rental, volume or instance. Its charges have the same cause.';
comment on column meters.name is
  'The meter within its resource (gpu, disk, gpu-2). Opening the same name twice opens one meter.';
comment on column meters.quantity is
  'Number of units, for usage reports; the rate already includes it.';
comment on column meters.unit is
  'gpu or gb: a charge names its milliseconds and number of units.';
comment on column meters.supplier_rate_nano_usd_per_hour is
  'The supplier''s share of the rate, totalled separately so that it is exact. The platform receives the remainder.';
comment on column meters.supplier_posted_nano_usd is
  'Amount credited to the supplier, less amounts taken back.';
comment on column meters.funding is
  'ahead: holds the next period and renews the hold. committed: holds the price of the whole term from the start.';
comment on column meters.term_ends_at is
  'Committed only: time after this costs nothing on this meter.';
comment on column meters.refund_ppm is
  'Committed only: refund of the remaining term at an early end, in parts per million.';
comment on column meters.retention_ms is
  'The hold also covers this time, so that data can be retained after other money has ended. 0 if nothing is retained.';
comment on column meters.running_since is
  'The start of the current running interval.';
comment on column meters.elapsed_before_ms is
  'Metered time before the current running interval.';
comment on column meters.posted_nano_usd is
  'Charges less refunds for metered time, including the amount absorbed by the operator.';
comment on column meters.shortfall_nano_usd is
  'The part of the charges that neither hold nor balance covered; absorbed by the operator.';
comment on column meters.rest_of_term_nano_usd is
  'Charge for the remaining term at the early end of a committed term.';
comment on column meters.held_nano_usd is
  'The amount of the hold since the last posting. Only the meter changes its hold.';
comment on column meters.covered_until is
  'Until when the hold pays, retention included. Null if nothing has to be paid.';
comment on column meters.next_post_at is
  'When a sweep next posts the meter and renews its hold. Null if it neither runs nor costs.';
comment on column meters.postings is
  'Number of settlements; numbers the steps of its charges.';
comment on column meters.kept_nano_usd_per_hour is
  'Price of an hour of retention, at which retention_ms is held.';
comment on table mock_machines is
  'Machines of the mock engine, by cluster. These rows are the whole state of the engine.';
comment on column mock_machines.machine is
  'The whole record; null for a deleted machine, whose row stays for an hour so that listeners learn of the deletion.';
comment on column mock_machines.what is
  'The last change as sent to listeners; null if none is sent.';
comment on column mock_machines.change_seq is
  'A new number for each change: the version that an update must name. Listeners store the highest number and may miss a late commit; they receive hints only.';
comment on table node_capacity is
  'The columns of a node that placement reads. Narrow, because every placement writes it. Changing the sold GPUs of a node requires a lock on this row.';
comment on column node_capacity.gpu_type is
  'The type as which its GPUs are sold. other: one model that rentals do not offer; only the marketplace sells it.';
comment on column node_capacity.cuda is
  'The newest CUDA version of its driver as a number: 12.8 is 1208.';
comment on column node_capacity.open is
  'Its provider, region and cluster are on sale.';
comment on column node_capacity.placeable is
  'Ready, open and of a type on sale. Set by trigger.';
comment on column node_capacity.pool is
  'Hash of the columns that placement matches exactly (pool_of). Hashes can collide, so queries compare the columns too. Set by trigger.';
comment on column node_capacity.gpus_free is
  'Present GPUs that are not allocated. Counted by trigger.';
comment on column node_capacity.gpus_allocated is
  'GPUs with a live allocation, including missing ones. Counted by trigger.';
comment on column node_capacity.largest_numa_free is
  'The greatest number of free GPUs on one NUMA node. Counted by trigger.';
comment on column node_capacity.idle is
  'No GPU is allocated or missing, so the node can join a multi-node rental. Set by trigger, with the counts.';
comment on column node_capacity.spread is
  'A random number. Placements that find many equal nodes start at different ones and do not wait for the same row.';
comment on table node_faults is
  'Faults of hosts that affected tenants. Append-only; written with the end of the attempt or of the rental.';
comment on column node_faults.kind is
  'start: a machine did not start. loss: a running machine was lost.';
comment on column node_faults.reason is
  'For the owner of the node. Names no tenant.';
comment on table node_transitions is
  'State changes of each node, with actor and reason. Append-only.';
comment on column nodes.name is
  'The engine''s name of the node.';
comment on column nodes.back_to is
  'The state to which an offline node returns.';
comment on column nodes.address is
  'The address on which ports of its machines are opened.';
comment on column nodes.cuda_version is
  'The newest CUDA version that its driver supports.';
comment on column nodes.hardware_digest is
  'Digest of the hardware last stored. A read with the same digest writes nothing.';
comment on column nodes.last_seen_at is
  'When its engine last reported the node as reachable, before unreachable_since; while that is null, the cluster''s time applies.';
comment on column nodes.unreachable_since is
  'The first of the consecutive reads in which the engine did not reach or list the node; null while it is reachable.';
comment on column nodes.forgotten_at is
  'When its engine stopped listing a removed node. Until then its name is not used for a new node.';
comment on table notice_mails is
  'One email: a notice and its recipient.';
comment on column notice_mails.category is
  'The category that people subscribe to, and that the limit on emails counts.';
comment on column notice_mails.state is
  'refused: the server rejected it permanently. given_up: the retries ended. skipped: it was never tried.';
comment on column notice_mails.attempts is
  'How often the server deferred this email. Outages of the server do not count.';
comment on column notice_mails.claim is
  'The worker that is sending it. Only this worker may write the result.';
comment on column notice_mails.claimed_until is
  'When another worker may claim it, by the database''s clock.';
comment on column notice_mails.email is
  'Address of a recipient who is not a member; null: the member''s current address.';
comment on column notice_mails.recipient is
  'The user id, or else the address: each recipient gets a notice once.';
comment on column notice_mails.in_digest is
  'Sent in one email with the others of its person, category and mode.';
comment on table notice_preferences is
  'Subscriptions that differ from the role''s default: one organisation, mode and category. Deleted with the membership.';
comment on table notices is
  'Notices to people. Only retention deletes them.';
comment on column notices.id is
  'The id of the event, if there is one, so that an event causes one notice.';
comment on column notices.org_id is
  'No foreign key: a notice must never prevent an event from getting its number.';
comment on column notices.type is
  'A type of event, or of a notice without an event, about the tenant''s own settings.';
comment on column notices.data is
  'The data of the event. Contains no secrets.';
comment on column notices.occurred_at is
  'Time of the cause, by the clock of the process that wrote it.';
comment on column notices.recorded_at is
  'By the database''s clock. Retention uses this time.';
comment on column notices.addressed_at is
  'When its emails were inserted; null until the recipients are known.';
comment on column organisations.metadata is
  'Free JSON text of the sign-in library; Millrace does not use it.';
comment on column organisations.home_cell is
  'The cell that has this organisation''s ledger; other cells lease credit from it.';
comment on column organisations.funded_at is
  'When its deposits first reached the sum that raises its rate limit; null before. Permanent.';
comment on column organisations.supplier_since is
  'When its owners and admins became suppliers; null: not a supplier. Permanent, because a supplier has earnings and machines.';
comment on table outbox is
  'Events and commands of transactions. Inserted with their cause, delivered at least once by the relay, deleted after delivery.';
comment on column outbox.kind is
  'event: published to JetStream and the feed. command: calls a Restate handler.';
comment on column outbox.shard is
  'Low six bits of org_id. One relay at a time processes a shard, so an organisation has one writer.';
comment on column outbox.type is
  'Events only: the event type, such as key.created.';
comment on column outbox.resource_kind is
  'Events only: the kind of resource concerned.';
comment on column outbox.resource_id is
  'Events only: the public id of the resource concerned.';
comment on column outbox.not_before is
  'Commands only: the handler must not run before this time. A time and not a delay, so that an outage does not extend it.';
comment on column outbox.payload is
  'The data of the event or the argument of the command; schema_version identifies its format.';
comment on column outbox.actor is
  'The actor: {"kind": "key" | "user" | "operator" | "system", "id": "…"}.';
comment on column outbox.schema_version is
  'Version of the payload''s format.';
comment on column outbox.occurred_at is
  'Time of the cause, by the clock of the process.';
comment on column outbox.created_at is
  'Start of the transaction that wrote the row, by the database''s clock.';
comment on column outbox.attempts is
  'How often the receiver refused this row. Outages of the receiver do not count.';
comment on column outbox.next_attempt_at is
  'No retry before this time, by the database''s clock.';
comment on column outbox.last_error is
  'The error of the newest refused attempt.';
comment on column outbox.parked_at is
  'When the relay stopped retrying this row. Clearing parked_at and attempts retries it.';
comment on table passkeys is
  'Public keys of passkeys; the private key never leaves the person''s device.';
comment on column passkeys.counter is
  'Grows with each use, up to 32 bits; a float because the library expects a JavaScript number.';
comment on table payment_disputes is
  'Payments that payers have disputed at their bank.';
comment on column payment_disputes.standing is
  'inquiry: a question of the bank, no money has moved. open, lost: the money was withdrawn. won: it was returned or never withdrawn.';
comment on column payment_disputes.told_at is
  'Time of the newest report stored here, by the provider''s clock.';
comment on table payment_events is
  'Every report of a provider, once, with its outcome. The row commits with its effect.';
comment on column payment_events.intent_ref is
  'The provider''s payment that the report names.';
comment on column payment_events.payment_id is
  'The payment found in our rows. Null: the report may belong to another product, or be early.';
comment on column payment_events.outcome is
  'applied: changed something. unchanged: already known. unmatched: names no known payment yet. mismatch: contradicts the payment and needs an operator.';
comment on column payment_events.fact is
  'The parsed report: ids, amounts and state. Contains no data about the payer.';
comment on table payments is
  'Deposits through a payment provider. Their ledger transfers have the cause payment and this id.';
comment on column payments.mode is
  'Always live: test keys cannot pay.';
comment on column payments.provider_live is
  'Created in the provider''s live mode, with real money. Reports of the provider''s test mode never affect it.';
comment on column payments.provider_ref is
  'The id of the Stripe Checkout Session. Null until it was created and stored.';
comment on column payments.provider_intent is
  'The id of the Stripe PaymentIntent, which refunds and disputes refer to.';
comment on column payments.amount_nano_usd is
  'The requested amount, in whole cents. The amount paid must equal it.';
comment on column payments.state is
  'created, open, processing: undecided. paid, refunded, disputed, charged_back: credited. expired, failed: not credited. mismatch: a different amount was paid; needs an operator.';
comment on column payments.success_url is
  'Stored with cancel_url because a repeated request to the provider must be identical.';
comment on column payments.credited_nano_usd is
  'Amount credited to the organisation: nothing, or the whole amount once.';
comment on column payments.refunded_nano_usd is
  'Total amount refunded to the card, as reported by the provider.';
comment on column payments.clawed_back_nano_usd is
  'Credit currently taken back for refunds and for open or lost disputes.';
comment on column payments.shortfall_nano_usd is
  'The part of the clawback that the organisation no longer had; absorbed by the operator.';
comment on column payments.clawback_transfers is
  'The ledger transfers of the clawback that were not reversed.';
comment on column payments.money_steps is
  'Counts the ledger commands after the credit; numbers each step.';
comment on column payments.next_check_at is
  'When to query the provider, in case a report was lost.';
comment on column payments.refund_total_nano_usd is
  'Total refunds in the newest report of the provider. Older processes may have written a smaller value than refunded_nano_usd, which then applies.';
comment on column payments.refund_told_at is
  'Time of that report, by the provider''s clock; null: from before this was recorded.';
comment on column payments.failed_refunds is
  'Refunds that the bank did not execute: ref, nanoUsd and at. Those after the newest report reduce its total to refunded_nano_usd.';
comment on table platform_roles is
  'Roles of people on the installation itself, beyond any organisation.';
comment on table pot_gateways is
  'Gateway processes that have requested credit leases. An id is one run of a process and is never reused.';
comment on table pot_lease_budgets is
  'The part of a budget granted with a lease: absolute amounts and a hold, as for the lease itself.';
comment on table pot_lease_gateways is
  'The holders of each lease. Inserted before the lease is sent, so every gateway that can spend from it has a row.';
comment on column pot_lease_gateways.declared_dead_at is
  'Silent for too long: a worker published its end marker.';
comment on column pot_lease_gateways.ended_at_seq is
  'Position of its end-of-epoch marker in the usage stream. All its usage of the lease is before it.';
comment on column pot_lease_gateways.settled_at is
  'Later usage is recorded and not charged, so that the remaining reservations can be released.';
comment on column pot_lease_gateways.given_back_at is
  'When its unused reservations were released, or the whole lease was closed.';
comment on table pot_leases is
  'Credit leases: a ledger hold with an epoch. A lease closes only after every holder has ended.';
comment on column pot_leases.generation is
  'The incarnation of the Valkey server that received the lease; it is valid only there.';
comment on column pot_leases.granted_nano_usd is
  'Total amount granted. Written here before it is written to Valkey.';
comment on column pot_leases.recalled_nano_usd is
  'Total amount recalled. Taken from Valkey before it is written here.';
comment on column pot_leases.settled_nano_usd is
  'Total usage charged to the lease, including usage above it.';
comment on column pot_leases.changes is
  'Counts changes of the hold; numbers each change in the ledger.';
comment on column pot_leases.used_nano_usd is
  'Usage, reservations included, when the lease was last enlarged: with used_at, the recent burn rate.';
comment on column pot_leases.expires_at is
  'Extended by each request. An expired lease is recalled; time alone does not close it.';
comment on table pot_servers is
  'The current incarnation of a cell''s Valkey server for credit leases. Leases of earlier generations grant nothing more.';
comment on column pot_servers.namespace is
  'Part of every key and script on the server, so that installations can share one.';
comment on column pot_servers.generation is
  'Grows each time a server is prepared: after a restart, a restore, a promotion or a wipe.';
comment on column pot_servers.incarnation is
  'The server''s replication id at that time. It changes when a server takes over the data of another.';
comment on column pot_servers.epoch_floor is
  'New leases get greater epochs. A confirmed restore raises it above every epoch used before.';
comment on table pots is
  'One row per series of credit leases. Its row lock serialises all changes of the leases of the series.';
comment on column pots.cell is
  'The cell whose Valkey server has the series.';
comment on column pots.last_epoch is
  'The newest epoch. Never assigned again: a lease with another epoch is invalid.';
comment on column pots.calm_until is
  'After a recall: until then the lease grows only as its requests need, so that the recalled money reaches its purpose.';
comment on table prices is
  'The price list: every version of every price. The price at a time is the most specific subject''s newest version that has started and not ended.';
comment on column prices.org_id is
  'Contract price of this organisation, which precedes every list price; null: a list price.';
comment on column prices.mode is
  'Always live: test mode is free.';
comment on column prices.region is
  'Null: every region without a price of its own.';
comment on column prices.network_type is
  'Null: every network type without a price of its own.';
comment on column prices.price_nano_usd is
  'Per unit; at most a million dollars, and one dollar per token, so that typing errors are refused.';
comment on column prices.valid_until is
  'Not used for new sales from this time on; null: no end. A price that ended before it started never applies.';
comment on table provider_regions is
  'Regions in which a provider has machines.';
comment on column provider_regions.custom_ports is
  'Whether a rental there may open custom ports.';
comment on table providers is
  'Operators of machines. Written from the configuration at start; an operator may change only enabled.';
comment on column providers.variant is
  'Decides the format of providerData in rental records.';
comment on column providers.mode is
  'test for the mock provider, the only one that test keys reach; live for all others.';
comment on column providers.enabled is
  'Set by the operator. False: nothing new is placed; running machines stay.';
comment on column providers.configured is
  'False after the configuration stopped naming the provider: it sells nothing and its rows stay for the record.';
comment on table relay_leases is
  'The process that relays each shard of the outbox. Losing the lease is harmless: the fencing token refuses the late writer.';
comment on column relay_leases.holder is
  'The name of the process, for operators.';
comment on column relay_leases.fence is
  'Fencing token: grows with every change of holder. Every write of the holder checks it.';
comment on column relay_leases.expires_at is
  'By the database''s clock, which all relays share.';
comment on table relays is
  'The running relay processes. Each takes its share of the shards, so a new process must have a row before it holds any.';
comment on column relays.expires_at is
  'Renewed by the process while it runs, by the database''s clock.';
comment on table rental_consoles is
  'Console output of machines. Engines return output of a running machine only once; later readers get this copy.';
comment on column rental_consoles.output is
  'At most the newest mebibyte, without control characters.';
comment on column rental_consoles.dropped is
  'Whether older output was discarded.';
comment on column rental_consoles.reading_until is
  'A process is reading from the engine; others wait, because the output must be stored in order.';
comment on table rental_idleness is
  'Since when rentals with an idle rule have been idle. A separate row, because a rule may be longer than the retention of samples.';
comment on column rental_idleness.idle_since is
  'When the rental was last busy, or when sampling restarted after a gap.';
comment on column rental_idleness.counters is
  'Counters of each machine at sampled_at; the next sample is compared with them.';
comment on table rental_machines is
  'Machines of rentals at their engines: one per node and attempt. Inserted before the engine is called, so that every created machine is known.';
comment on column rental_machines.external_id is
  'Name at the engine: the rental''s id, with attempt and position added unless they are the first.';
comment on column rental_machines.allocation_id is
  'The allocation of its GPUs. Null after a stop that released them.';
comment on column rental_machines.state is
  'wanted: the engine has perhaps created it. made: exists with the platform''s key. proven: verified as sold. open: the tenant has access, and the platform''s key is revoked. doomed: marked for deletion. gone: the engine confirmed the deletion twice.';
comment on column rental_machines.proof_key is
  'The private half of the one-time platform key, encrypted; deleted when the key is revoked.';
comment on column rental_machines.host_key is
  'The SSH host key seen in the readiness proof, as SHA256 fingerprint. Later sign-ins must show the same key.';
comment on column rental_machines.starting is
  'SSH worked before the engine finished the start, so the result of the start is still unknown.';
comment on column rental_machines.cut_at is
  'When the engine had removed all network access.';
comment on column rental_machines.absent_seen is
  'How often the engine has reported the machine as absent.';
comment on column rental_machines.next_try_at is
  'When a failed or unfinished step is retried.';
comment on table rental_samples is
  'Metrics of machines of rentals, every 30 seconds where monitoring is on or an idle rule is set, kept for seven days. No foreign key: a check per row would cost more than the row.';
comment on column rental_samples.slot is
  'Days since 1970 in UTC, modulo nine: the partition of the ring.';
comment on column rental_samples.cpu_seconds is
  'A counter since the machine started, like those of the network. Null: not measured, never 0.';
comment on column rental_samples.gpu_percents is
  'Utilisation of each GPU in the order of gpu_addresses; both null if the engine does not report it.';
comment on table rental_steps is
  'Provisioning and deletion steps of a rental with their times, as shown to the tenant.';
comment on column rental_steps.message is
  'Text for the tenant. Contains no secrets.';
comment on table rental_terms is
  'Terms of a rental in order: the first, each extension, and on demand afterwards. The price is frozen.';
comment on column rental_terms.hold_id is
  'The hold taken when the term was accepted, until its meter takes it over.';
comment on column rental_terms.meter_name is
  'The rental''s meter that charges the term.';
comment on table rental_transitions is
  'Status changes of each rental, with actor and reason. Append-only.';
comment on table required_actions is
  'Stops and deletions that owners of resources must carry out because money ended or the organisation was suspended. Metering inserts them; rentals and volumes execute them.';
comment on column required_actions.action is
  'stop: must not continue to run. delete: the paid retention has ended.';
comment on column required_actions.reason is
  'balance: the wallet is empty. budget: a budget with stop_everything refused to extend it. suspension: the operator suspended the organisation and its running work.';
comment on column required_actions.state is
  'cancelled: money arrived before the action started, the suspension was lifted, or an immediate action replaced it.';
comment on column required_actions.claimed_until is
  'Another worker can claim an unfinished action from this time on.';
comment on table reservation_requests is
  'Requests for large reservations. Append-only: people answer them.';
comment on column reservation_requests.user_id is
  'The user of the requesting key.';
comment on table reserve_options is
  'Terms that can be reserved. Append-only: the newest of several for the same machine, GPU, region and term is on offer.';
comment on column reserve_options.region is
  'Null: every region without an option of its own for the term.';
comment on column reserve_options.refund_ppm is
  'Refund of the remaining term at an early end, in parts per million.';
comment on column restore_state.installation is
  'Identifies the database in NATS and Valkey. A backup has the same id; a new database has another.';
comment on column restore_state.generation is
  'Grows each time an operator confirms a restore. Compared before the mark.';
comment on column restore_state.mark is
  'Advanced by workers about every second while the state is normal, and copied to NATS and Valkey after the commit.';
comment on column restore_state.marked_at is
  'When the mark was last advanced: in a restored database, about the point of the backup.';
comment on column restore_state.state is
  'restored: a copy outside the database is ahead, so no credit is granted and no machine deleted. confirming: an operator has confirmed, and a worker is executing it.';
comment on column restore_state.outside is
  'The newest mark found outside the database, with the database''s counters at that time.';
comment on column restore_state.report is
  'Objects found outside that are newer than this database.';
comment on column restore_state.confirmed_at is
  'When the last restore was confirmed. Machines without rows that were seen before need an operator''s decision.';
comment on column restore_state.lost_from is
  'The earliest point to which this database was restored. Rows written between it and confirmed_at may be lost.';
comment on table sample_shards is
  'When each shard of rentals was last sampled, so that workers share the shards. Saves duplicate work; not a lock.';
comment on table schema_migrations is
  'The migrations applied to this database. Only the migrator writes here.';
comment on table sessions is
  'Sign-in sessions of people. The sign-in library creates them; it or our own operations end them.';
comment on column sessions.token is
  'SHA-256 of the token, in hex, so that a reader of this table cannot sign in.';
comment on column sessions.active_org_id is
  'The organisation that the person has selected; a preference, never a permission.';
comment on table ssh_public_keys is
  'Public keys installed on machines. Normalised on input: one line, no options.';
comment on table storage_addresses is
  'The machine to which each private storage address of a region is assigned. Live mode only. Held from the rental''s first volume until the machine is deleted.';
comment on table storage_nodes is
  'Hosts of volumes, from the workers'' configuration. One node is one storage agent.';
comment on column storage_nodes.mode is
  'Data of test keys is never on the same node as live data.';
comment on column storage_nodes.credential_ref is
  'The name of a configured credential, never the secret itself.';
comment on column storage_nodes.vip_first is
  'With vip_last: the range of addresses that serve volumes of this node, one each.';
comment on column storage_nodes.capacity_gb is
  'Capacity on sale, counted by the sizes of volumes and snapshots.';
comment on column storage_nodes.configured is
  'False: the configuration does not name the node. It takes no new volumes and continues to serve existing ones.';
comment on column storage_nodes.beat_at is
  'When a worker last tried to check the node.';
comment on column storage_nodes.watch_since is
  'Start of the present checks without a gap. Earlier silence was a gap in our checks.';
comment on column storage_nodes.seen_at is
  'When the node last responded.';
comment on column storage_nodes.next_look_at is
  'A worker advances this before it checks the node, so that one worker checks at a time.';
comment on table stray_machines is
  'Orphans: machines of this installation that no rental refers to. Removed after two comparisons some time apart; the row is deleted when the engine stops listing the machine.';
comment on column stray_machines.org_id is
  'As reported by the engine; the organisation may be unknown.';
comment on column stray_machines.reap_begun_at is
  'When the removal was first tried.';
comment on table supplier_join_tokens is
  'Tokens with which a machine joins, so that it needs no key of the supplier. Only the hash is stored.';
comment on column supplier_join_tokens.cluster_name is
  'The cluster name that the marketplace shows for machines that join with the token.';
comment on table supplier_machine_days is
  'Daily measurements of a machine: observed time, available time, successful and failed starts. Kept for 90 days.';
comment on table supplier_machine_trust is
  'Reliability of each enrolled machine, from the measurements of the last 30 days.';
comment on column supplier_machine_trust.measured_until is
  'Everything before this time is in supplier_machine_days, once.';
comment on column supplier_machine_trust.quarantines is
  'How often the machine was quarantined for its own faults.';
comment on table supplier_machines is
  'Machines of suppliers, from the request to join. Their hardware is in nodes and gpus, as for every machine.';
comment on column supplier_machines.endpoint is
  'Address of its daemon: https, a host and a port.';
comment on column supplier_machines.server_certificate is
  'The only certificate accepted from the daemon. Public.';
comment on column supplier_machines.server_fingerprint is
  'SHA-256 of that certificate. It identifies the daemon under any of its host names.';
comment on column supplier_machines.trust_token is
  'One-time token that makes the daemon trust our certificate, encrypted. Deleted after use.';
comment on column supplier_machines.stage is
  'trusting: registering our certificate, for one project only. inspecting: reading the hardware. testing: running the self-test. Only enrolled machines can be sold.';
comment on column supplier_machines.tests is
  'Results of the self-test, with notes for people.';
comment on column supplier_machines.listed is
  'The supplier wants the machine listed. It is listed if the operator has also approved it.';
comment on column supplier_machines.drained_at is
  'When the supplier drained the machine and may resume it; null: the supplier has not.';
comment on column supplier_machines.recent_price_nano_usd_per_gpu_hour is
  'The lowest price shortly before a price rise or an unlisting. Renters pay at most this until recent_price_until, because they may have seen it.';
comment on table supplier_payouts is
  'Payouts requested by suppliers, with their results. Money leaves the ledger when an operator confirms the payment.';
comment on column supplier_payouts.reference is
  'Reference of the payment, such as the number of a bank transfer.';
comment on column supplier_payouts.reason is
  'The operator''s reason; shown to the supplier after a rejection.';
comment on column supplier_payouts.hold_id is
  'The hold of the amount since the request, so that no amount is requested twice. Closed by the settlement.';
comment on table supplier_statements is
  'Ledger postings of a month (UTC) for a supplier''s machines, by machine, less refunds. Written once, when the month is over.';
comment on column supplier_statements.lines is
  'By machine: [{"machineId": …, "gpuSeconds": …, "grossNanoUsd": "…", "feeNanoUsd": "…"}]. They sum to the statement.';
comment on column suppliers.fee_ppm is
  'The operator''s share of each charge, in parts per million. Running rentals keep the fee at which they were rented.';
comment on table two_factors is
  'Second factors of people: time-based codes and backup codes.';
comment on column two_factors.secret is
  'Encrypted with MILLRACE_AUTH_SECRET.';
comment on column two_factors.backup_codes is
  'Encrypted with MILLRACE_AUTH_SECRET; each code is deleted after use.';
comment on column two_factors.verified is
  'False until the person has entered a first code; until then sign-in does not ask for one.';
comment on column two_factors.failed_verification_count is
  'Consecutive wrong codes; too many lock the factor for some time.';
comment on table usage_charges is
  'One row per request that reported usage, so that none is charged twice. Append-only. Partitioned by the day in the request id, a UUIDv7; the worker creates partitions in advance.';
comment on column usage_charges.product is
  'The model or other product used. Requests of one product, key and lease in a batch share a transfer.';
comment on column usage_charges.amount_nano_usd is
  'Cost of the request; charged only if the outcome says so.';
comment on column usage_charges.borne_nano_usd is
  'Cost above the reservation, posted to the operator''s shortfall account.';
comment on column usage_charges.transfer_id is
  'The transfer that charged it; null if nothing was charged.';
comment on column usage_charges.outcome is
  'late: the lease was closed, or its gateway settled, before the usage arrived. unknown_lease: the organisation has no such lease. overpriced: the reported cost exceeds the highest possible cost of the model. None of these is charged.';
comment on table usage_charges_rest is
  'Rows that arrived before the partition of their day existed. Creating the partition moves them.';
comment on table usage_deferred is
  'Usage whose charge the ledger refused or that timed out. A worker charges each request once and deletes the row. A lease with rows here is not closed.';
comment on column usage_deferred."position" is
  'Index of the event in the message, from 0.';
comment on column usage_deferred.lane is
  'Rows of one organisation and lane are charged separately from all others: those of one lease, or those without a lease.';
comment on column usage_deferred.kind is
  'end: the end marker of a gateway''s epochs, which follows its usage in the stream.';
comment on column usage_deferred.attempts is
  'Failed attempts of this row. Rows with fewer are tried first.';
comment on table usage_sinks is
  'The worker that processes each usage stream. Only saves work: concurrent workers are serialised by the stream''s row in usage_watermarks.';
comment on table usage_unreadable is
  'Messages of a usage stream that could not be parsed or stored, kept for an operator. The stream continues without them, and they are not charged.';
comment on column usage_unreadable."position" is
  'Index of the event in the message, from 0; 0 with the whole message as payload if no event could be parsed.';
comment on table usage_watermarks is
  'Progress of the sink in each usage stream: everything up to passed_seq is charged or recorded.';
comment on table users is
  'People. A person has one row, however many organisations they belong to.';
comment on column users.email is
  'Always lower case, so that one address is one user.';
comment on column users.email_verified is
  'True after the person confirmed the address; sign-in maintains it.';
comment on column users.two_factor_enabled is
  'True after the person confirmed a second factor; a password alone is then not enough to sign in.';
comment on table verifications is
  'Short-lived confirmations in progress (email address, password reset).';
comment on table volume_attachments is
  'Rentals that may use a volume, now or in the past. A volume may have several at once.';
comment on table volume_snapshots is
  'Snapshots of volumes. Billed like the volume; deleted when the volume is purged.';
comment on column volume_snapshots.size_gb is
  'The volume''s size while it is created; the space used once it is ready.';
comment on column volume_snapshots.make_by is
  'The snapshot fails if it is not ready by this time.';
comment on column volume_snapshots.volume_gb is
  'Size of the file system in the snapshot; a volume that it is restored into must be at least as large.';
comment on table volume_transitions is
  'Status changes of each volume, with actor and reason. Append-only.';
comment on column volume_transitions.to_status is
  'Null: the volume was deleted.';
comment on table wallet_ladders is
  'The dunning level of each wallet. No row: the wallet never came near its end.';
comment on column wallet_ladders.step is
  'The lowest level announced: a day, an hour or a quarter of an hour of runway, or none.';
comment on column wallet_ladders.since is
  'When the wallet reached this level.';
comment on table webhook_deliveries is
  'Deliveries of events to webhooks. No foreign keys and no checks: the statement that numbers events inserts here and must not fail because of it.';
comment on column webhook_deliveries.seq is
  'The number of the event. Deliveries about one resource are sent in this order, one at a time.';
comment on column webhook_deliveries.id is
  'The public id: the first bits of the event''s id, with its time and cell, then a digest of event and webhook.';
comment on column webhook_deliveries.status is
  'pending: retried until it succeeds. failed: the last attempt failed. abandoned: not retried further because the webhook was disabled.';
comment on column webhook_deliveries.failures is
  'Failed attempts since it was last requested: its position in the retry schedule.';
comment on column webhook_deliveries.next_attempt_at is
  'Not tried before this time, by the workers'' clock, nor before earlier deliveries about the same resource are done.';
comment on column webhook_deliveries.created_at is
  'By the database''s clock. Retention uses this time.';
comment on table webhook_queues is
  'Webhooks with pending deliveries, and the worker that sends them: one worker at a time per webhook.';
comment on column webhook_queues.next_due_at is
  'When the next delivery is due, by the workers'' clock; null if none is pending.';
comment on column webhook_queues.wakes is
  'Grows with every addition, so that a worker that found nothing can detect deliveries added meanwhile.';
comment on column webhook_queues.failing is
  'The last attempt failed. Failing webhooks share a limited part of the workers'' slots, so that they do not delay the others.';
comment on column webhook_queues.fence is
  'Fencing token: grows with each change of worker. Writes of a worker that lost the webhook change nothing.';
comment on column webhook_queues.lease_until is
  'By the database''s clock.';
comment on table webhooks is
  'Addresses to which organisations have their events sent.';
comment on column webhooks.mode is
  'live or test. Only events of the same mode are sent.';
comment on column webhooks.event_types is
  'The types sent; * means every type, including future ones.';
comment on column webhooks.disabled_by is
  'person: disabled or deleted by its owner. failures: disabled after days without a success. Notices depend on it.';
comment on column webhooks.secret_sealed is
  'The signing secret, encrypted for this row and column.';
comment on column webhooks.previous_secret_sealed is
  'Also signs until previous_secret_until, so that receivers can change over.';
comment on column webhooks.failing_since is
  'First failed attempt since the last success; null while deliveries succeed.';
comment on column webhooks.last_error is
  'Error of the newest attempt, if it failed.';
comment on column webhooks.deleted_at is
  'Deleted by its owner. The row stays until its deliveries are deleted.';
comment on table written_off_clawbacks is
  'Clawbacks whose uncovered part the operator does not claim, from before debts were recorded.';
comment on table written_off_machines is
  'Machines that an operator wrote off because their host never returned. A node with one that may still exist stays out of service.';
comment on column written_off_machines.absent_at is
  'When the engine later reported that it has no such machine. Null: unknown.';
comment on index outbox_events_idx is
  'Separates events from commands: finding events must not scan commands that wait for an unavailable engine.';
comment on index prices_one_from_an_instant_idx is
  'Refuses a second price for the same subject from the same time, so that the applicable price is always unique.';

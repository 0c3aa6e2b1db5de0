-- A storage server knows a machine by its private address alone. Two machines of a region with volumes and one address would share
-- their volumes, also across organisations. So one machine holds the address, and only the holder is let in. Machines without
-- volumes hold none: two networks of a region may have equal addresses.
-- No existing table is rewritten. Writes to machines and attachments wait for this transaction, which looks at each present attachment
-- once; reads do not wait.

create table storage_addresses (
  region text not null check (length(region) between 1 and 64),
  address text not null check (length(address) <= 64),
  rental_id uuid not null,
  attempt smallint not null,
  position smallint not null,
  primary key (region, address),
  foreign key (rental_id, attempt, position) references rental_machines (rental_id, attempt, position) on delete cascade
);
create index storage_addresses_machine_idx on storage_addresses (rental_id, attempt, position);
revoke update on storage_addresses from millrace_app;
comment on table storage_addresses is 'The machine that storage servers of a region know by a private address. In live mode only. Held from when its rental has a volume until the machine is gone.';

create function hold_storage_addresses(of_rentals uuid[]) returns void language sql as $$
  insert into storage_addresses (region, address, rental_id, attempt, position)
  select rental.region, machine.private_ip, machine.rental_id, machine.attempt, machine.position
    from rentals as rental join rental_machines as machine on machine.rental_id = rental.id
   where rental.id = any (of_rentals) and machine.mode = 'live' and length(machine.private_ip) <= 64
     and machine.state not in ('doomed', 'gone')
     and exists (select 1 from volume_attachments as held where held.rental_id = rental.id and held.detached_at is null)
   order by machine.rental_id, machine.private_ip, machine.attempt, machine.position
  on conflict do nothing
$$;
comment on function hold_storage_addresses(uuid[]) is 'Gives each machine of rentals with volumes its private address, unless another machine of the region holds it.';

create function note_storage_addresses() returns trigger language plpgsql as $$
begin
  if tg_argv[0] = 'release' then
    delete from storage_addresses
     where rental_id = new.rental_id and attempt = new.attempt and position = new.position;
  else
    perform hold_storage_addresses(array[new.rental_id]);
  end if;
  return null;
end
$$;

create trigger rental_machines_hold_address after insert or update of private_ip on rental_machines
  for each row when (new.mode = 'live' and new.private_ip is not null) execute function note_storage_addresses('hold');
create trigger rental_machines_release_address after update of state on rental_machines
  for each row when (new.mode = 'live' and new.state = 'gone') execute function note_storage_addresses('release');
create trigger volume_attachments_hold_address after insert on volume_attachments
  for each row when (new.mode = 'live') execute function note_storage_addresses('hold');

-- Of machines with volumes that share an address already, the one of the oldest rental holds it. The others are let in by no storage
-- server until their volume is detached and attached again, which is refused while the holder is there.
select hold_storage_addresses(array_agg(distinct rental_id)) from volume_attachments
 where detached_at is null and mode = 'live';

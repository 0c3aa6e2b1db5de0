-- A snapshot can be restored: into a new volume, which is provisioned from it, or into its own volume, which nothing may use
-- meanwhile. The restore is part of the row of the volume that it changes, like a growth.

alter table volume_snapshots add column volume_gb integer check (volume_gb between 1 and 64000);
-- Snapshots from before get theirs by a later migration: this one holds locks that all requests about volumes wait for.
grant update (volume_gb) on volume_snapshots to millrace_app;
comment on column volume_snapshots.volume_gb is 'The size of the file system in it: a volume that it is restored into is at least as large.';

alter table volumes add column restore_id uuid;
alter table volumes add column restore_snapshot_id uuid references volume_snapshots (id) on delete restrict;
alter table volumes add column restore_volume_id uuid references volumes (id) on delete restrict;
alter table volumes add column restore_by timestamptz;
alter table volumes add constraint volumes_restore_is_whole check (
  (restore_id is null) = (restore_snapshot_id is null) and (restore_id is null) = (restore_volume_id is null)
  and (restore_id is null) = (restore_by is null));
alter table volumes add constraint volumes_restore_before_purge check (restore_id is null or phase not in ('purging', 'purged'));
alter table volumes drop constraint volumes_live_is_seen_or_unknown;
alter table volumes add constraint volumes_live_is_seen_or_unknown check (
  phase <> 'live' or status in ('active', 'unknown') or restore_id is not null);
alter table volumes add constraint volumes_restoring_is_inactive check (restore_id is null or status = 'inactive');
create index volumes_restore_idx on volumes (restore_volume_id) where restore_volume_id is not null;
grant update (restore_id, restore_snapshot_id, restore_volume_id, restore_by) on volumes to millrace_app;
comment on column volumes.restore_id is 'Of the restore into this volume that the backend has still to confirm. The backend remembers it, so that it is done once.';
comment on column volumes.restore_snapshot_id is 'What is restored.';
comment on column volumes.restore_volume_id is 'The volume that the snapshot was taken of; this one itself where it is restored in place.';
comment on column volumes.restore_by is 'From then on the backend is no longer asked for the restore, only whether it was done.';

-- Services take the lock of the volume first. The trigger takes it too, so that a statement that does not is refused as well.
create function refuse_attached_restore() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'volume_attachments' then
    perform 1 from volumes where id = new.volume_id for no key update;
    if exists (select 1 from volumes where id = new.volume_id and restore_volume_id = id) then
      raise exception 'volume % is being restored and cannot be attached', new.volume_id using errcode = 'check_violation';
    end if;
  elsif exists (select 1 from volume_attachments where volume_id = new.id and detached_at is null) then
    raise exception 'volume % is attached and cannot be restored', new.id using errcode = 'check_violation';
  end if;
  return new;
end
$$;
create trigger volume_attachments_not_while_restoring before insert on volume_attachments
  for each row execute function refuse_attached_restore();
create trigger volumes_restore_unattached before update of restore_id on volumes
  for each row when (new.restore_volume_id = new.id and new.restore_id is distinct from old.restore_id)
  execute function refuse_attached_restore();

-- Sizes of snapshots from before they were kept. Rows are locked one by one; the lock that excludes requests is taken last, for one scan.

update volume_snapshots as snapshot set volume_gb = volume.size_gb
  from volumes as volume where volume.id = snapshot.volume_id and snapshot.volume_gb is null;
alter table volume_snapshots alter column volume_gb set not null;

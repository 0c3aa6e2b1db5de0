import fs from 'node:fs';
import path from 'node:path';

/** Variables with which buildah and podman keep all images and containers in a folder, apart from those of the machine. */
export function containerSettings(folder: string): Readonly<Record<string, string>> {
  const quoted = (name: string): string => JSON.stringify(path.join(folder, name));
  const storage = path.join(folder, 'storage.conf');
  const containers = path.join(folder, 'containers.conf');
  fs.writeFileSync(
    storage,
    `[storage]\ndriver = "overlay"\ngraphroot = ${quoted('graph')}\nrunroot = ${quoted('run')}\n`,
  );
  fs.writeFileSync(
    containers,
    [
      '[containers]',
      // On some machines root cannot raise its limits, and the defaults are above them.
      'default_ulimits = ["nofile=16384:16384", "nproc=8192:8192"]',
      '[engine]',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "file"',
      '',
    ].join('\n'),
  );
  return { CONTAINERS_STORAGE_CONF: storage, CONTAINERS_CONF: containers };
}

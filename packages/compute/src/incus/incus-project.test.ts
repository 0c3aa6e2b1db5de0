import { expect, it } from 'vitest';
import { projectChanges, projectConfig } from './incus-project.ts';
import type { IncusSettings } from './incus-settings.ts';

const settings: IncusSettings = {
  instanceType: 'container',
  network: 'bridge0',
  storagePool: 'default',
  sshUser: 'ubuntu',
  owner: 'millrace',
  allowsNesting: false,
  instancesPerOrg: 20,
  project: null,
  listenAddress: null,
};

it('projectConfig restricts a project to one network and allows the devices of machines', () => {
  expect(projectConfig(settings)).toMatchObject({
    restricted: 'true',
    'restricted.containers.privilege': 'unprivileged',
    'restricted.containers.nesting': 'block',
    'restricted.devices.disk': 'managed',
    'restricted.devices.nic': 'managed',
    'restricted.devices.gpu': 'allow',
    'restricted.devices.proxy': 'allow',
    'restricted.networks.access': 'bridge0',
    'limits.instances': '20',
  });
  expect(projectConfig({ ...settings, instancesPerOrg: null })['limits.instances']).toBeUndefined();
});

it('projectChanges restores loosened settings and ignores additional ones', () => {
  const wanted = projectConfig(settings);
  expect(projectChanges(wanted, { ...wanted, 'user.note': 'by hand' })).toEqual({});
  expect(projectChanges(wanted, { ...wanted, restricted: 'false' })).toEqual({ restricted: 'true' });
});

import { systemClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEvent } from './incus-events.ts';
import { instanceName, projectName } from './incus-names.ts';

const ids = createIdSource({ clock: systemClock, cell: 1 });
const externalId = ids.nextUuid();
const name = instanceName(externalId);
const project = projectName(ids.next('org'));

function message(metadata: object, type = 'lifecycle'): string {
  const timestamp = '2026-11-15T06:51:33.742730265Z';
  return JSON.stringify({ type, timestamp, metadata, location: 'm2', project });
}

it('parseEvent returns the machine of a lifecycle event', () => {
  const source = `/1.0/instances/${name}?project=${project}`;
  const requestor = { username: 'root', protocol: 'unix', address: '@' };
  for (const action of ['instance-created', 'instance-started', 'instance-shutdown', 'instance-deleted']) {
    const hint = { kind: 'machine', externalId, what: action };
    expect(parseEvent(message({ action, source, requestor, name, project }))).toEqual(hint);
    // Older releases send only the URL.
    expect(parseEvent(message({ action, source }))).toEqual(hint);
  }
});

it('parseEvent returns the node of a cluster member event', () => {
  const metadata = { action: 'cluster-member-evacuated', source: '/1.0/cluster/members/m2' };
  expect(parseEvent(message(metadata))).toEqual({
    kind: 'node',
    nodeName: 'm2',
    what: 'cluster-member-evacuated',
  });
});

it('parseEvent ignores events that change nothing, are not of owned machines or cannot be parsed', () => {
  const source = `/1.0/instances/${name}?project=${project}`;
  expect(parseEvent(message({ action: 'instance-exec', source }))).toBeNull();
  expect(parseEvent(message({ action: 'instance-file-pushed', source }))).toBeNull();
  expect(parseEvent(message({ action: 'instance-started', source }, 'logging'))).toBeNull();
  expect(parseEvent(message({ action: 'instance-started', source: '/1.0/instances/web' }))).toBeNull();
  expect(parseEvent(message({ action: 'image-created', source: '/1.0/images/1' }))).toBeNull();
  expect(parseEvent('')).toBeNull();
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseEvent(text)).toBeNull();
    }),
  );
});

it('parseEvent with a shared project accepts only events of that project', () => {
  const started = (where: string): string =>
    message({ action: 'instance-started', source: `/1.0/instances/${name}?project=${where}` });
  const hint = { kind: 'machine', externalId, what: 'instance-started' };
  expect(parseEvent(started('millrace'), 'millrace')).toEqual(hint);
  expect(parseEvent(started('other'), 'millrace')).toBeNull();
  expect(parseEvent(started(project), 'millrace')).toBeNull();
  expect(parseEvent(started('millrace'), null)).toBeNull();
});

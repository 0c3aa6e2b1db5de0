import { systemClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isDriverError } from '../../driver-error.ts';
import { instanceName, externalIdFrom, projectName, parseMachineRef } from './incus-names.ts';

const ids = createIdSource({ clock: systemClock, cell: 1 });

it('parseMachineRef returns the machine and organisation of generated names', () => {
  const [externalId, orgId] = [ids.nextUuid(), ids.next('org')];
  expect(parseMachineRef(instanceName(externalId), projectName(orgId))).toEqual({ externalId, orgId });
  expect(instanceName(externalId)).toMatch(/^mr-[0-9a-f-]{36}$/);
});

it('instanceName refuses everything that is not a UUID', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      let name: string;
      try {
        name = instanceName(text);
      } catch (error) {
        expect(isDriverError(error, 'refused')).toBe(true);
        return;
      }
      expect(name).toMatch(/^mr-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    }),
  );
});

it('parseMachineRef returns null for names of others', () => {
  const project = projectName(ids.next('org'));
  for (const name of [
    'web',
    'mr-',
    'mr-web',
    `x${instanceName(ids.nextUuid())}`,
    `mr-${ids.nextUuid()}/..`,
  ]) {
    expect(parseMachineRef(name, project), name).toBeNull();
  }
  expect(parseMachineRef(instanceName(ids.nextUuid()), 'default')).toBeNull();
  // A UUID of another version is not an organisation.
  expect(parseMachineRef(instanceName(ids.nextUuid()), 'mr-9b1f3c52-6f4e-4d2a-8f43-2f1f0c1d2e3f')).toBeNull();
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, owner) => {
      expect(parseMachineRef(name, owner)).toBeNull();
    }),
  );
});

it('externalIdFrom uses name and project if all machines share one project', () => {
  const externalId = ids.nextUuid();
  const name = instanceName(externalId);
  expect(externalIdFrom({ name, project: 'millrace' }, 'millrace')).toBe(externalId);
  expect(externalIdFrom({ name, project: 'default' }, 'millrace')).toBeNull();
  expect(externalIdFrom({ name: 'web', project: 'millrace' }, 'millrace')).toBeNull();
  expect(externalIdFrom({ name, project: 'millrace' }, null)).toBeNull();
  expect(externalIdFrom({ name, project: projectName(ids.next('org')) }, null)).toBe(externalId);
});

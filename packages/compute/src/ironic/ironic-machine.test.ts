import { describe, expect, it } from 'vitest';
import { nodeSchema, type IronicNode } from './ironic-schemas.ts';
import {
  differenceFromSpec,
  toNodeExtra,
  exists,
  locateMachine,
  newAnnotation,
  phaseOf,
  viewOf,
  type Phase,
} from './ironic-machine.ts';
import { image, machineSpecFor } from './fake-ironic.fixture.ts';

const uuid = '0c3c1f6e-6c6f-4f1e-9f39-6a8c8a4f1c11';
const spec = machineSpecFor({ uuid });
const mark = newAnnotation(spec, 'millrace', new Date(0));
const settings = { images: { ubuntu: image }, owner: 'millrace', pollMs: 1 };

function nodeWith(changes: Partial<IronicNode>): IronicNode {
  const { hasNoConductor = false, ...others } = changes;
  return { ...nodeSchema.parse({ uuid, extra: toNodeExtra(mark), ...others }), hasNoConductor };
}

describe('phaseOf', () => {
  it.each<[string, string | null, Phase]>([
    ['available', spec.externalId, 'held'],
    ['available', null, 'wiped'],
    ['deploying', spec.externalId, 'deploying'],
    ['wait call-back', spec.externalId, 'waiting'],
    ['active', spec.externalId, 'deployed'],
    ['rescue', spec.externalId, 'deployed'],
    ['deploy failed', spec.externalId, 'failed'],
    ['deleting', spec.externalId, 'leaving'],
    ['error', spec.externalId, 'stuck'],
    ['cleaning', null, 'wiping'],
    ['clean wait', null, 'wiping'],
    ['clean failed', null, 'unclean'],
    ['manageable', null, 'unclean'],
    ['inspect failed', null, 'unclean'],
    ['servicing', spec.externalId, 'unknown'],
  ])('maps %s with the instance %s to %s', (state, instance, phase) => {
    expect(phaseOf(nodeWith({ provision_state: state, instance_uuid: instance }), spec.externalId)).toBe(
      phase,
    );
  });
});

describe('locateMachine', () => {
  it('returns the machine of the annotation, also while the node is wiped without an allocation', () => {
    expect(locateMachine(nodeWith({ provision_state: 'cleaning' }), null, 'millrace')).toMatchObject({
      mark,
    });
  });

  it('returns the machine of the allocation before the annotation is written', () => {
    const node = nodeWith({ provision_state: 'available', instance_uuid: spec.externalId, extra: {} });
    const allocation = {
      uuid: spec.externalId,
      state: 'active',
      node_uuid: uuid,
      extra: toNodeExtra(mark),
    } as const;
    expect(locateMachine(node, allocation, 'millrace')).toMatchObject({ mark, phase: 'held' });
    expect(locateMachine(node, null, 'millrace')).toBeNull();
  });

  it('ignores an annotation if another machine has the node, or of another installation', () => {
    const node = nodeWith({
      provision_state: 'active',
      instance_uuid: '7d6d9f0e-2f5a-4c0e-8a3c-0d9a9be6b1f2',
    });
    expect(locateMachine(node, null, 'millrace')).toBeNull();
    expect(locateMachine(nodeWith({ provision_state: 'active' }), null, 'another')).toBeNull();
  });

  it('ignores an invalid annotation', () => {
    const node = nodeWith({ provision_state: 'active', extra: { millrace_machine: { owner: 'millrace' } } });
    expect(locateMachine(node, null, 'millrace')).toBeNull();
  });
});

describe('viewOf, exists and differenceFromSpec', () => {
  it.each<[Partial<IronicNode>, string]>([
    [{ provision_state: 'active', power_state: 'power on' }, 'on'],
    [{ provision_state: 'active', power_state: 'power off' }, 'off'],
    [{ provision_state: 'active', power_state: 'power off', target_power_state: 'power on' }, 'changing'],
    [{ provision_state: 'active', power_state: null }, 'error'],
    [{ provision_state: 'active', power_state: 'error' }, 'error'],
    [{ provision_state: 'active', power_state: 'power on', hasNoConductor: true }, 'error'],
    [{ provision_state: 'wait call-back', power_state: 'power on' }, 'changing'],
    [{ provision_state: 'cleaning', power_state: 'power on' }, 'changing'],
    [{ provision_state: 'deploy failed', power_state: 'power off' }, 'error'],
    [{ provision_state: 'servicing', power_state: 'power on' }, 'error'],
  ])('map %j to power %s', (changes, power) => {
    const located =
      locateMachine(nodeWith(changes), null, 'millrace') ?? expect.fail('No machine is on the node.');
    expect(viewOf(located, settings)).toMatchObject({ power, externalId: spec.externalId, nodeName: uuid });
  });

  it('treat a machine as absent only if its node is wiped or unclean', () => {
    const absent: readonly Phase[] = ['wiped', 'unclean'];
    const there: readonly Phase[] = [
      'held',
      'deploying',
      'waiting',
      'deployed',
      'failed',
      'leaving',
      'stuck',
      'wiping',
      'unknown',
    ];
    expect(absent.filter((phase) => exists({ phase }))).toEqual([]);
    expect(there.filter((phase) => exists({ phase }))).toEqual(there);
  });

  it('compare GPUs, size and image with the spec, and nothing more', () => {
    expect(
      differenceFromSpec(mark, {
        ...spec,
        gpuPciAddresses: spec.gpuPciAddresses.toReversed(),
        hostname: 'x',
      }),
    ).toBeNull();
    expect(differenceFromSpec(mark, { ...spec, gpuPciAddresses: [] })).toBe('other GPUs');
    expect(differenceFromSpec(mark, { ...spec, ramMb: 1 })).toBe('another size');
    expect(differenceFromSpec(mark, { ...spec, image: 'other' })).toBe('another image');
  });
});

import { describe, expect, it } from 'vitest';
import { inventorySchema, nodeSchema, type IronicNode } from './ironic-schemas.ts';
import { gpusOf, hardwareOf, inventoryNodeOf, problemOf } from './ironic-inventory.ts';

const uuid = '0c3c1f6e-6c6f-4f1e-9f39-6a8c8a4f1c11';

function nodeWith(changes: Partial<IronicNode> = {}): IronicNode {
  const { hasNoConductor = false, ...others } = changes;
  const node = nodeSchema.parse({
    uuid,
    provision_state: 'available',
    power_state: 'power off',
    resource_class: 'gpu',
    properties: {
      cpus: '192',
      memory_mb: 2_097_152,
      local_gb: 3_500,
      capabilities: 'boot_mode:uefi,gpu_count:2',
    },
    extra: { millrace: { address: '203.0.113.1', fabric: 'ib-1', connection_type: 'infiniband' } },
    traits: ['CUSTOM_RACK_7', 'CUSTOM_GPU_H100_SXM'],
    ...others,
  });
  return { ...node, hasNoConductor };
}

const inspected = inventorySchema.parse({
  inventory: {
    cpu: { count: 224, model_name: 'Xeon Platinum 8480C' },
    memory: { physical_mb: 2_064_384 },
    disks: [{ size: 960_197_124_096 }, { size: 3_840_755_982_336 }],
  },
  plugin_data: {
    pci_devices: [
      { vendor_id: '10de', product_id: '2335', class: '030200', bus: '0000:1B:00.0', numa_node_id: 0 },
      { vendor_id: '10de', product_id: 'abcd', class: '030200', bus: '0000:9d:00.0', numa_node_id: -1 },
      { vendor_id: '10de', product_id: '22a3', class: '068000', bus: '0000:05:00.0' },
      { vendor_id: '15b3', product_id: '1021', class: '020700', bus: '0000:18:00.0' },
      { vendor_id: '1a03', product_id: '2000', class: '030000', bus: '0000:03:00.0' },
      { vendor_id: '10de', product_id: '2335', class: '030200', bus: '../../x' },
    ],
  },
});

describe('hardwareOf and gpusOf', () => {
  it('use the inspection: GPUs by address, without switches, network cards and console graphics', () => {
    const hardware = hardwareOf(nodeWith(), inspected);
    expect(hardware).toMatchObject({
      cpuModel: 'Xeon Platinum 8480C',
      cpuCount: 224,
      ramMb: 2_064_384,
      storageGb: 4_471,
    });
    expect(hardware?.gpus.map(({ pciAddress, model, numaNode }) => [pciAddress, model, numaNode])).toEqual([
      ['0000:1b:00.0', 'NVIDIA H200', 0],
      ['0000:9d:00.0', 'NVIDIA abcd', null],
    ]);
  });

  it("use the operator's data without an inspection, also from strings", () => {
    expect(hardwareOf(nodeWith(), null)).toMatchObject({
      cpuCount: 192,
      ramMb: 2_097_152,
      storageGb: 3_500,
      fabric: 'ib-1',
      connectionType: 'infiniband',
    });
    expect(gpusOf(nodeWith(), null).map(({ pciAddress, model }) => [pciAddress, model])).toEqual([
      ['0000:01:00.0', 'H100 SXM'],
      ['0000:02:00.0', 'H100 SXM'],
    ]);
  });

  it('prefer the GPUs and the model that the operator listed', () => {
    const gpus = [{ pci_address: '0000:C3:00.0', uuid: 'GPU-1' }, { pci_address: 'rm -rf' }];
    const node = nodeWith({ extra: { millrace: { gpu_model: 'NVIDIA B200', gpus } } });
    expect(gpusOf(node, null)).toMatchObject([
      { pciAddress: '0000:c3:00.0', uuid: 'GPU-1', model: 'NVIDIA B200' },
    ]);
  });

  it('return null without size, and such a node is not reachable', () => {
    for (const properties of [{}, { cpus: 'many', memory_mb: 1 }, { cpus: 0, memory_mb: -5 }, null]) {
      const node = nodeWith({ properties });
      expect(hardwareOf(node, null)).toBeNull();
      expect(inventoryNodeOf(node, null, null)).toMatchObject({ reachable: false, hardware: null });
    }
  });

  it('ignore invalid notes of the operator', () => {
    const extra = {
      millrace: { address: 7, fabric: ['x'], connection_type: 'string and can', gpus: 'eight' },
    };
    const node = nodeWith({ extra });
    expect(inventoryNodeOf(node, null, null)).toMatchObject({ reachable: true, address: null });
    expect(hardwareOf(node, null)).toMatchObject({ fabric: null, connectionType: null });
    expect(inventoryNodeOf(nodeWith({ extra: { millrace: 'x' } }), null, null).reachable).toBe(true);
  });
});

describe('inventoryNodeOf and problemOf', () => {
  it("report a node by its UUID, at the operator's address", () => {
    expect(inventoryNodeOf(nodeWith({ name: 'rack-7-u3' }), null, null)).toMatchObject({
      name: uuid,
      detail: 'rack-7-u3',
      reachable: true,
      address: '203.0.113.1',
    });
  });

  it.each<[string, Partial<IronicNode>, string]>([
    ['no conductor is alive', { hasNoConductor: true }, 'conductor'],
    ['it is in maintenance', { maintenance: true, maintenance_reason: 'disk' }, 'maintenance: disk'],
    ['its cleaning failed', { provision_state: 'clean failed', last_error: 'erase' }, 'clean failed: erase'],
    ['an operator uses it', { provision_state: 'manageable' }, 'operator'],
    ['another client deployed it', { provision_state: 'active' }, 'not for a machine of the platform'],
    ['another client allocated it', { instance_uuid: uuid }, 'Another client'],
    ['it has no resource class', { resource_class: null }, 'resource class'],
    ['its power is unknown', { power_state: null }, 'power state'],
  ])('report a problem if %s', (_title, changes, why) => {
    expect(problemOf(nodeWith(changes), null)).toContain(why);
  });
});

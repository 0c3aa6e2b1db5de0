import { fromUuid } from '@millrace/platform/ids';
import { setProvisionState, waitForNodeState, type IronicNode } from '@millrace/testing';
import type { MetalStack } from '../../stack/metal-stack.ts';
import { seedOperator } from '../../stack/supplier.ts';

/**
 * Does the operator's part of the runbook. A node whose cleaning was interrupted by the death of Ironic stays quarantined: this
 * repair has Ironic clean it again and then resumes the node through the operator's API.
 */
export async function createHostRepair(stack: MetalStack): Promise<() => Promise<number>> {
  const operator = await seedOperator(stack);
  return async () => {
    const nodes = await readPool(stack);
    for (const node of nodes) await wipeAgain(stack, node);
    const free = new Set(nodes.filter(isFree).map(({ uuid }) => uuid));
    const quarantined = await stack.rows<{ id: string; name: string }>(
      "select id, name from nodes where status = 'node_quarantined'",
    );
    const wiped = quarantined.filter(({ name }) => free.has(name));
    for (const { id } of wiped) {
      await operator('POST', `/v2/admin/nodes/${fromUuid('nod', id)}/resume`, {
        reason: 'It was wiped again',
      });
    }
    return wiped.length;
  };
}

async function readPool({ ironic }: MetalStack): Promise<readonly IronicNode[]> {
  const fields = 'uuid,provision_state,maintenance,reservation,instance_uuid';
  const { nodes } = await ironic.call<{ nodes: readonly IronicNode[] }>('GET', `/v1/nodes?fields=${fields}`);
  return nodes;
}

const isFree = ({ provision_state: state, maintenance, instance_uuid: tenant }: IronicNode): boolean =>
  state === 'available' && !maintenance && tenant === null;

async function wipeAgain({ ironic }: MetalStack, node: IronicNode): Promise<void> {
  const { uuid, provision_state: state, reservation } = node;
  if (reservation !== null || (state !== 'clean failed' && state !== 'manageable')) return;
  if (state === 'clean failed') {
    await setProvisionState(ironic, uuid, 'manage');
    await waitForNodeState(ironic, uuid, ['manageable']);
  }
  await ironic.call('DELETE', `/v1/nodes/${uuid}/maintenance`);
  await setProvisionState(ironic, uuid, 'provide');
}

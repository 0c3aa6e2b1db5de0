import { machineStates, actionDecision, type MachineState } from '@millrace/contract/states';
import { statusText } from '../common/fleet-nodes.ts';

/** Says why an action is not possible on a node; false if it is. The rules are those of the contract. */

export type NodeAction = 'drain' | 'resume' | 'quarantine' | 'remove';

const already: Readonly<Record<NodeAction, string>> = {
  drain: 'The node is already draining.',
  resume: 'The node is already in service.',
  quarantine: 'The node is already quarantined.',
  remove: 'The node is already removed.',
};

const first: Readonly<Record<NodeAction, string>> = {
  drain: 'Return it to service first.',
  resume: 'Its hardware is being read. It becomes ready automatically.',
  quarantine: '',
  remove: 'Drain it first.',
};

export function nodeActionDisabledReason(
  action: NodeAction,
  node: { readonly status: MachineState; readonly liveRentalCount: number },
): string | false {
  const decision = actionDecision(machineStates, action, node.status);
  if (decision === 'repeat') return already[action];
  if (decision !== 'allowed') return `The node is ${statusText(node.status)}. ${first[action]}`.trim();
  if (action === 'remove' && node.liveRentalCount > 0) {
    return `${rentalsText(node.liveRentalCount)} still running on it. Wait until the node is empty.`;
  }
  return false;
}

/** Why a node cannot be written off; false if the service may allow it. */
export function writeOffDisabledReason({ status }: { readonly status: MachineState }): string | false {
  if (status === 'node_removed') return 'The node is already removed.';
  if (status === 'node_offline' || status === 'node_quarantined') return false;
  return 'The host responds. Drain and remove the node instead.';
}

/** `1 rental is`, `3 rentals are`. */
export function rentalsText(count: number): string {
  if (count === 0) return 'No rental is';
  return count === 1 ? '1 rental is' : `${String(count)} rentals are`;
}

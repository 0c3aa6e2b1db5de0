import { machineStates, actionDecision, type MachineState } from '@millrace/contract/states';
import { statusText } from '../common/fleet-nodes.ts';

/** Says why an action is not possible on a node; false if it is. The rules are those of the contract. */

export type NodeAction = 'drain' | 'resume' | 'quarantine' | 'remove';

/** Effects of each action on running rentals and their billing. */
export const nodeActionEffects: Readonly<Record<NodeAction | 'write-off', string>> = {
  drain: 'No new rentals are placed on the node. Running rentals continue and are billed as before.',
  resume: 'The node accepts new rentals again. Running rentals and their billing do not change.',
  quarantine:
    'For a node that you do not trust: no new rentals until an operator returns it to service. Running rentals continue and are billed as before.',
  remove: 'Permanently removes an empty node from the fleet. No rental runs on it, so no billing changes.',
  'write-off':
    'For a node that will not return: its rentals end, their machines and data are declared lost, and nothing is charged after the node was last seen.',
};

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

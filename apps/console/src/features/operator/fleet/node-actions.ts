import { machineStates, actionDecision, type MachineState } from '@millrace/contract/states';
import { statusText } from '../common/fleet-nodes.ts';

/** Why an act is not possible on a node in its state; false where it is. The rules are those of the service. */

export type NodeAction = 'drain' | 'resume' | 'quarantine' | 'remove';

const already: Readonly<Record<NodeAction, string>> = {
  drain: 'It drains already.',
  resume: 'It is in use already.',
  quarantine: 'It is quarantined already.',
  remove: 'It is removed already.',
};

const first: Readonly<Record<NodeAction, string>> = {
  drain: 'Put it back into use first.',
  resume: 'Its hardware is being read; it is ready by itself then.',
  quarantine: '',
  remove: 'Drain it first.',
};

export function nodeActionDisabledReason(
  action: NodeAction,
  node: { readonly status: MachineState; readonly liveRentalCount: number },
): string | false {
  const decision = actionDecision(machineStates, action, node.status);
  if (decision === 'repeat') return already[action];
  if (decision !== 'allowed') return `It is ${statusText(node.status)}. ${first[action]}`.trim();
  if (action === 'remove' && node.liveRentalCount > 0) {
    return `${rentalsText(node.liveRentalCount)} still on it. Wait until it is empty.`;
  }
  return false;
}

/** Why a node cannot be written off; false where the service may allow it. */
export function writeOffDisabledReason({ status }: { readonly status: MachineState }): string | false {
  if (status === 'node_removed') return 'It is removed already.';
  if (status === 'node_offline' || status === 'node_quarantined') return false;
  return 'Its host answers. Drain and remove it instead.';
}

/** `One rental is`, `3 rentals are`. */
export function rentalsText(count: number): string {
  if (count === 0) return 'No rental is';
  return count === 1 ? 'One rental is' : `${String(count)} rentals are`;
}

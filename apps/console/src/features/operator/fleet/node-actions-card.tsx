import type { Output } from '@millrace/sdk';
import { useState, type ReactNode } from 'react';
import { TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant } from '../common/local-time.ts';
import { WriteOffButton } from '../common/write-off-button.tsx';
import {
  nodeActionDisabledReason,
  nodeActionEffects,
  rentalsText,
  writeOffDisabledReason,
  type NodeAction,
} from './node-actions.ts';

type Node = Output<'adminGetNode'>;

interface NodeProps {
  readonly node: Node;
}

/** Each action with its effect on running rentals and their billing, and why it is not possible now. */
export function NodeActionsCard({ node }: NodeProps) {
  return (
    <Card title="Actions">
      <ul className="flex flex-col gap-3">
        <Row action="drain" off={nodeActionDisabledReason('drain', node)}>
          <DrainButton node={node} />
        </Row>
        <Row action="resume" off={nodeActionDisabledReason('resume', node)}>
          <ResumeButton node={node} />
        </Row>
        <Row action="quarantine" off={nodeActionDisabledReason('quarantine', node)}>
          <QuarantineButton node={node} />
        </Row>
        <Row action="remove" off={nodeActionDisabledReason('remove', node)}>
          <RemoveButton node={node} />
        </Row>
        <Row action="write-off" off={writeOffDisabledReason(node)}>
          <WriteOffNode node={node} />
        </Row>
      </ul>
    </Card>
  );
}

interface RowProps {
  readonly action: NodeAction | 'write-off';
  readonly off: string | false;
  readonly children: ReactNode;
}

function Row({ action, off, children }: RowProps) {
  return (
    <li className="grid items-start gap-x-4 gap-y-1 sm:grid-cols-[9rem_1fr]">
      <div>{children}</div>
      <div className="text-soft max-w-prose text-pretty">
        <p>{nodeActionEffects[action]}</p>
        {off !== false && <p className="text-xs">Not possible now: {off}</p>}
      </div>
    </li>
  );
}

function DrainButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  const [deadline, setDeadline] = useState('');
  const deadlineAt = localToInstant(deadline);
  return (
    <ActionButton
      label="Drain"
      title={`Drain ${name}`}
      doing="Draining…"
      done={`${name} is draining.`}
      off={nodeActionDisabledReason('drain', node)}
      wait={deadlineAt === undefined && 'Enter a complete date and time.'}
      run={(client, reason) =>
        client.admin.nodes.drain({ nodeId, reason, ...(deadlineAt == null ? {} : { deadlineAt }) })
      }
    >
      <p>
        {nodeActionEffects.drain} {rentalsText(node.liveRentalCount)} running.
      </p>
      <TextField
        label="Planned to be empty by (optional)"
        hint="Shown on the node. Rentals are not terminated at that time."
        type="datetime-local"
        value={deadline}
        onValue={setDeadline}
      />
    </ActionButton>
  );
}

function ResumeButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <ActionButton
      label={node.status === 'node_quarantined' ? 'Return to service' : 'Resume'}
      title={`Return ${name} to service`}
      doing="Returning…"
      done={`${name} is back in service.`}
      off={nodeActionDisabledReason('resume', node)}
      run={(client, reason) => client.admin.nodes.resume({ nodeId, reason })}
    >
      <p>{nodeActionEffects.resume}</p>
    </ActionButton>
  );
}

function QuarantineButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <ActionButton
      label="Quarantine"
      title={`Quarantine ${name}`}
      kind="danger"
      doing="Quarantining…"
      done={`${name} is quarantined.`}
      off={nodeActionDisabledReason('quarantine', node)}
      run={(client, reason) => client.admin.nodes.quarantine({ nodeId, reason })}
    >
      <p>
        {nodeActionEffects.quarantine} {rentalsText(node.liveRentalCount)} running.
      </p>
    </ActionButton>
  );
}

function RemoveButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <ActionButton
      label="Remove"
      title={`Remove ${name} from the fleet`}
      kind="danger"
      doing="Removing…"
      done={`${name} was removed.`}
      off={nodeActionDisabledReason('remove', node)}
      run={(client, reason) => client.admin.nodes.remove({ nodeId, reason })}
    >
      <p>{nodeActionEffects.remove} Its name is free when the engine no longer lists it.</p>
    </ActionButton>
  );
}

function WriteOffNode({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <WriteOffButton
      name={name}
      off={writeOffDisabledReason(node)}
      run={(client, request) => client.admin.nodes.writeOff({ nodeId, ...request })}
    >
      <p>
        {nodeActionEffects['write-off']} {rentalsText(node.liveRentalCount)} on it. The node is removed from
        the fleet, and its GPUs are not offered again.
      </p>
    </WriteOffButton>
  );
}

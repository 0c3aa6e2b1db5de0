import { stateTables, actionDecision } from '@millrace/contract/states';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint, CopyButton, Id } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Money, PerHour } from '../../ui/money.tsx';
import { Card, DescriptionList, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { Note, QueryView } from '../../ui/states.tsx';
import { Timestamp, useNow } from '../../ui/time.tsx';
import { StepList } from '../rentals/detail/step-list.tsx';
import {
  instanceBilling,
  instanceRefetchMs,
  portAddress,
  provisioningSteps,
  type Instance,
} from './instance.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

export function InstancePage() {
  const { name } = useParams({ from: '/shell/inside/instances/$name' });
  const instance = useApiQuery(
    ['instances', 'one', name],
    async (client, signal) => client.marketplace.instances.get({ name }, { signal }),
    { refetchMs: instanceRefetchMs },
  );
  return (
    <>
      {instance.data === undefined && <PageHeader title={name} back={back} />}
      <QueryView query={instance} what="instance">
        {(found: Instance) => <InstanceDetail instance={found} />}
      </QueryView>
    </>
  );
}

const back = <TextLink to="/instances">Instances</TextLink>;

function InstanceDetail({ instance }: Readonly<{ instance: Instance }>) {
  const { name, status } = instance;
  const isOver = status === 'terminated' || status === 'stopping' || status === 'failed';
  return (
    <>
      <PageHeader
        title={name}
        about={`${String(instance.gpuCount)} × ${instance.gpuModel} in ${instance.region}`}
        back={back}
        actions={<Terminate instance={instance} />}
      />
      {isOver && <Receipt instance={instance} />}
      <StateCard instance={instance} />
      {!isOver && <Connect instance={instance} />}
      <InstanceFacts instance={instance} />
      <CommandHint command={`millrace market instance get ${name}`} />
    </>
  );
}

function StateCard({ instance }: Readonly<{ instance: Instance }>) {
  const now = useNow(1_000);
  const { status, statusReason, statusSince, costPerHourNanoUsd, costSoFarNanoUsd } = instance;
  const { meaning, deadline } = stateTables.instance.states[status];
  const { mode } = useSession().place;
  const { isBilled, words } = instanceBilling(instance);
  const steps = provisioningSteps(instance, now);
  return (
    <>
      <KeyFigures
        items={[
          {
            label: 'State',
            value: <StateBadge state={status} />,
            note: (
              <>
                since <Timestamp at={statusSince} />
              </>
            ),
          },
          {
            label: 'An hour costs',
            value: <PerHour nano={isBilled ? costPerHourNanoUsd : '0'} />,
            note:
              mode === 'test' ? 'Test mode is free. In live mode the price of the machine applies.' : words,
          },
          { label: 'Cost so far', value: <Money nano={costSoFarNanoUsd} /> },
        ]}
      />
      <Card title="What happens">
        <div className="flex flex-col gap-3" aria-live="polite">
          <div>
            <p>{meaning}</p>
            {deadline !== null && <p className="text-soft text-xs">How long: {deadline}</p>}
          </div>
          {statusReason !== null && <Note tone={status === 'failed' ? 'bad' : 'info'}>{statusReason}</Note>}
          {steps.length > 0 && <StepList steps={steps} label="Steps" />}
        </div>
      </Card>
    </>
  );
}

function Connect({ instance }: Readonly<{ instance: Instance }>) {
  const { sshCommand, ports, name } = instance;
  return (
    <Card title="Connect">
      <div className="flex flex-col gap-3">
        {sshCommand === null ? (
          <p className="text-soft">
            There is no SSH command yet: it appears here as soon as the machine was proven usable.
          </p>
        ) : (
          <>
            <CodeBlock code={sshCommand} what="SSH command" label="Log in" />
            <CodeBlock code={`millrace ssh ${name}`} what="command line" label="Or with the command line" />
          </>
        )}
        {ports.length > 0 && (
          <div>
            <h3 className="mb-1">Ports</h3>
            <ul className="flex flex-col gap-1">
              {ports.map((port) => {
                const { text, href } = portAddress(port);
                return (
                  <li key={text} className="flex items-center gap-1">
                    {href === null ? (
                      <code className="break-all">{text}</code>
                    ) : (
                      <a href={href} rel="noreferrer" target="_blank" className="break-all underline">
                        {text}
                      </a>
                    )}
                    <CopyButton
                      text={href ?? `${port.domain}:${String(port.port)}`}
                      what="address of the port"
                    />
                  </li>
                );
              })}
            </ul>
          </div>
        )}
      </div>
    </Card>
  );
}

function InstanceFacts({ instance }: Readonly<{ instance: Instance }>) {
  return (
    <Card title="About it">
      <DescriptionList
        items={[
          ['Name', <Id key="name" value={instance.name} what="name" />],
          ['GPUs', `${String(instance.gpuCount)} × ${instance.gpuModel} (${instance.gpuVerification})`],
          ['Price', <PerHour key="price" nano={instance.costPerHourNanoUsd} />],
          ['Image', instance.image ?? 'the machine’s usual one'],
          ['Machine', <Id key="node" value={instance.nodeName} what="id of the machine" />],
          ['Supplier', instance.supplierId === 'platform' ? 'the operator' : instance.supplierId],
          ['Ordered', <Timestamp key="created" at={instance.createdAt} />],
          instance.startedAt === null
            ? null
            : ['Usable since', <Timestamp key="started" at={instance.startedAt} />],
          instance.endedAt === null ? null : ['Ended', <Timestamp key="ended" at={instance.endedAt} />],
          instance.expiresAt === null
            ? null
            : ['Ends by itself', <Timestamp key="expires" at={instance.expiresAt} />],
          instance.maxUsd === null ? null : ['Spends at most', `$${String(instance.maxUsd)}`],
          Object.keys(instance.tags).length === 0
            ? null
            : [
                'Tags',
                Object.entries(instance.tags)
                  .map(([tag, value]) => `${tag}=${value}`)
                  .join(', '),
              ],
        ]}
      />
    </Card>
  );
}

function Receipt({ instance }: Readonly<{ instance: Instance }>) {
  const { startedAt, endedAt, costSoFarNanoUsd, costPerHourNanoUsd, status } = instance;
  return (
    <Card title="Receipt" about={instance.name}>
      <div className="flex flex-col gap-3">
        <p className="text-2xl font-semibold">
          <Money nano={costSoFarNanoUsd} />
        </p>
        <DescriptionList
          items={[
            [
              'Usable from',
              startedAt === null ? (
                'It never was usable, and cost nothing.'
              ) : (
                <Timestamp key="from" at={startedAt} />
              ),
            ],
            endedAt === null ? null : ['Until', <Timestamp key="until" at={endedAt} />],
            ['An hour cost', <PerHour key="hour" nano={costPerHourNanoUsd} />],
          ]}
        />
        {status === 'stopping' && <Note>Nothing more is billed. The machine is being released.</Note>}
        <div>
          <LinkButton to="/ledger" search={{ causeKind: 'instance' }} size="small">
            Instances in the ledger
          </LinkButton>
        </div>
      </div>
    </Card>
  );
}

function Terminate({ instance }: Readonly<{ instance: Instance }>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const { name, status, costSoFarNanoUsd } = instance;
  const decision = actionDecision(stateTables.instance, 'terminate', status);
  const off =
    mayNot('marketplace:write') || (decision !== 'allowed' && 'It is over already, or being ended.');
  return (
    <>
      <Button kind="danger" off={off} onClick={() => setOpen(true)}>
        Terminate
      </Button>
      <ConfirmDialog
        title={`Terminate ${name}?`}
        open={isOpen}
        onClose={() => setOpen(false)}
        action="Terminate"
        doing="Terminating…"
        typed={name}
        run={(client) => client.marketplace.instances.terminate({ id: name })}
        changes={['instances', 'marketplace', 'money']}
        onDone={(toast) => toast(`${name} is being ended`, 'Nothing more is billed.')}
      >
        <p>Its disk and everything on it is deleted, for good. An instance cannot be stopped and kept.</p>
        <p>
          Billing stops at once. So far it cost <Money nano={costSoFarNanoUsd} />. Nothing of it costs
          anything afterwards.
        </p>
      </ConfirmDialog>
    </>
  );
}

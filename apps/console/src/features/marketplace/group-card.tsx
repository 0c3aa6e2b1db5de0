import { useSession } from '../../api/session.tsx';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { Money, PerHour } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { teraflops } from './facets.ts';
import type { MachineGroup, MachineOffer } from './groups.ts';
import {
  freeGpus,
  memoryOfMebibytes,
  gpuName,
  hardwareTexts,
  networkTexts,
  perHour,
  rentDisabledReason,
  supplierName,
  type Machine,
} from './machine.ts';
import { priceLabels } from './rent-form.ts';

const gpusText = (count: number): string => (count === 1 ? '1 GPU' : `${String(count)} GPUs`);
const machinesText = (count: number): string => (count === 1 ? '1 machine' : `${String(count)} machines`);

/** Machines with one type of GPU; identical ones share a row. */
export function GroupCard({ group, mode }: Readonly<{ group: MachineGroup; mode: 'live' | 'test' }>) {
  const { gpu, gpuRam, machineCount, gpusFree, lowestPrice, offers } = group;
  const memory = gpuRam === 0 ? '' : `${memoryOfMebibytes(gpuRam)} each, `;
  return (
    <Card
      flush
      title={gpu}
      about={`${memory}unverified · ${machinesText(machineCount)}`}
      actions={
        <div className="flex flex-wrap items-center gap-3">
          <span>
            <span className="text-soft">from </span>
            <Money nano={lowestPrice} />
            <span className="text-soft"> per GPU-hour</span>
          </span>
          <Badge tone={gpusFree > 0 ? 'good' : 'warn'}>
            {gpusFree > 0 ? `${gpusText(gpusFree)} available` : 'unavailable'}
          </Badge>
        </div>
      }
    >
      <Table caption={`Machines with ${gpu}`} columns={columnsOf(mode)} rows={offers} isWide />
    </Card>
  );
}

const columnsOf = (mode: 'live' | 'test'): readonly Column<MachineOffer>[] => [
  {
    head: 'Machine',
    main: true,
    cell: ({ machines: [machine] }) => (
      <>
        <span className="whitespace-nowrap">
          {gpusText(machine.gpus_total)}
          {teraflops(machine) > 0 && `, ${String(Math.round(teraflops(machine)))} TFLOPS each`}
        </span>
        <SmallLines texts={hardwareTexts(machine)} />
      </>
    ),
  },
  {
    head: 'Available',
    cell: (offer) => {
      const [machine, ...more] = offer.machines;
      return (
        <>
          <span className="whitespace-nowrap">
            {offer.gpusFree} of {gpusText(offer.gpusTotal)}
          </span>
          {more.length > 0 && <SmallLines texts={[`up to ${String(freeGpus(machine))} on one machine`]} />}
          {machine.status !== 'node_ready' && (
            <span className="block">
              <StateBadge state={machine.status} />
            </span>
          )}
        </>
      );
    },
  },
  {
    head: 'Location and network',
    cell: ({ machines: [machine] }) => (
      <>
        <span className="whitespace-nowrap">{machine.location.region}</span>
        <span className="text-soft flex items-center justify-end gap-1 text-xs md:justify-start">
          by {supplierName(machine.supplier_id)}
          {machine.supplier_id !== 'platform' && <CopyButton text={machine.supplier_id} what="supplier ID" />}
        </span>
        <SmallLines texts={networkTexts(machine)} />
      </>
    ),
  },
  {
    head: priceLabels(mode).gpu,
    right: true,
    cell: ({ machines: [machine] }) => <PerHour nano={perHour(machine, 1)} />,
  },
  { head: 'Actions', cell: (offer) => <OfferActions offer={offer} /> },
];

function SmallLines({ texts }: Readonly<{ texts: readonly string[] }>) {
  return (
    <ul className="text-soft text-xs font-normal">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function OfferActions({ offer }: Readonly<{ offer: MachineOffer }>) {
  const [machine, ...more] = offer.machines;
  if (more.length === 0) {
    return (
      <span className="flex items-center justify-end gap-1 md:justify-start">
        <RentLink machine={machine} kind="primary" />
        <CopyButton text={machine.id} what="machine ID" />
      </span>
    );
  }
  return (
    <>
      <RentLink machine={machine} kind="primary" />
      <details className="mt-1 text-xs">
        <summary className="whitespace-nowrap">{machinesText(offer.machines.length)}</summary>
        <ul className="mt-1 flex flex-col gap-1">
          {offer.machines.map((each) => (
            <li key={each.id} className="flex items-center justify-end gap-1 md:justify-start">
              <span className="whitespace-nowrap">
                {freeGpus(each)} of {each.gpus_total}
              </span>
              <RentLink machine={each} kind="plain" />
              <CopyButton text={each.id} what={`machine ID ${each.id}`} />
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

function RentLink({ machine, kind }: Readonly<{ machine: Machine; kind: 'primary' | 'plain' }>) {
  const { mayNot } = useSession();
  const size = kind === 'plain' ? 'small' : 'medium';
  const why = mayNot('marketplace:write') || rentDisabledReason(machine);
  if (why !== null) {
    return (
      <Button off={why} size={size}>
        Rent
      </Button>
    );
  }
  return (
    <LinkButton
      to="/marketplace/$nodeName"
      params={{ nodeName: machine.id }}
      aria-label={`Rent ${gpuName(machine)} on ${machine.id}`}
      kind={kind}
      size={size}
    >
      Rent
    </LinkButton>
  );
}

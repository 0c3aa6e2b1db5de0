import { Id } from '../../../ui/copy.tsx';
import { Badge } from '../../../ui/badge.tsx';
import { diskText, memoryText } from '../../../ui/logic/size-text.ts';
import { Card, DescriptionList } from '../../../ui/page.tsx';
import { LiveCost, PerHour } from '../../../ui/money.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { usdNumberText } from '@millrace/sdk/text';
import { networkText, rentalHardwareText, type Rental } from '../rental.ts';

export function DetailsCard({ rental }: Readonly<{ rental: Rental }>) {
  const [node] = rental.nodes;
  const tags = Object.entries(rental.tags);
  return (
    <Card title="Details">
      <DescriptionList
        items={[
          ['Hardware', rentalHardwareText(rental)],
          ['Location', `${rental.region}, ${networkText(rental.connectionType)}`],
          node === undefined
            ? null
            : [
                rental.nodes.length > 1 ? `Each of ${String(rental.nodes.length)} nodes` : 'Machine',
                `${String(node.cpuCount)} CPUs (${node.cpuModel}), ${memoryText(node.ramGb)} RAM, ${diskText(node.storageGb)} disk`,
              ],
          rental.image === null ? null : ['Image', rental.image],
          ['Term', <Term key="term" rental={rental} />],
          rental.expiresAt === null ? null : ['Terminates at', <Timestamp key="ttl" at={rental.expiresAt} />],
          rental.maxUsd === null
            ? null
            : ['Spending limit', `Terminated before it costs more than ${usdNumberText(rental.maxUsd)}.`],
          tags.length === 0
            ? null
            : [
                'Tags',
                <span key="tags" className="flex flex-wrap gap-1">
                  {tags.map(([name, value]) => (
                    <Badge key={name}>{`${name}=${value}`}</Badge>
                  ))}
                </span>,
              ],
          ['Created by', rental.createdBy.name ?? rental.createdBy.email],
          ['Created', <Timestamp key="made" at={rental.createdAt} />],
          rental.terminatedAt === null ? null : ['Ended', <Timestamp key="ended" at={rental.terminatedAt} />],
          rental.meta?.termination_reason === undefined ? null : ['Reason', rental.meta.termination_reason],
          ['ID', <Id key="id" value={rental.externalId} what="rental ID" />],
        ]}
      />
    </Card>
  );
}

function Term({ rental }: Readonly<{ rental: Rental }>) {
  const { currentTerm } = rental;
  if (currentTerm.termType === 'private-cloud') return <>Under a contract</>;
  if (currentTerm.termType === 'on-demand') {
    return (
      <>
        On demand, <PerHour usd={currentTerm.costPerHour} />
        <LiveCost nano={rental.liveCostPerHourNanoUsd} perHour />
      </>
    );
  }
  return (
    <>
      Reserved for {currentTerm.termPeriodDays} days at <PerHour usd={currentTerm.costPerHour} />
      {currentTerm.discountPercentage > 0 && <>, {currentTerm.discountPercentage} % off</>}
      {currentTerm.reservedUntil !== null && (
        <>
          , until <Timestamp at={currentTerm.reservedUntil} />
        </>
      )}
      .{' '}
      {rental.convertToOnDemandOnExpiry === true
        ? 'Then continues on demand.'
        : 'Then the machine and its disk are deleted.'}
    </>
  );
}

import { Id } from '../../../ui/copy.tsx';
import { Badge } from '../../../ui/badge.tsx';
import { Card, DescriptionList } from '../../../ui/page.tsx';
import { PerHour } from '../../../ui/money.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { usdNumberText } from '@millrace/sdk/text';
import { rentalHardwareText, type Rental } from '../rental.ts';

export function DetailsCard({ rental }: Readonly<{ rental: Rental }>) {
  const [node] = rental.nodes;
  const tags = Object.entries(rental.tags);
  return (
    <Card title="About it">
      <DescriptionList
        items={[
          ['What', rentalHardwareText(rental)],
          ['Where', `${rental.region}, ${rental.connectionType}`],
          node === undefined
            ? null
            : [
                rental.nodes.length > 1 ? `Each of ${String(rental.nodes.length)} nodes` : 'Machine',
                `${String(node.cpuCount)} CPUs (${node.cpuModel}), ${String(node.ramGb)} GB memory, ${String(node.storageGb)} GB disk`,
              ],
          rental.image === null ? null : ['Image', rental.image],
          ['Term', <Term key="term" rental={rental} />],
          rental.expiresAt === null ? null : ['Time to live', <Timestamp key="ttl" at={rental.expiresAt} />],
          rental.maxUsd === null
            ? null
            : ['Limit', `It ends before it costs more than ${usdNumberText(rental.maxUsd)}.`],
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
          ['Made by', rental.createdBy.name ?? rental.createdBy.email],
          ['Made at', <Timestamp key="made" at={rental.createdAt} />],
          rental.terminatedAt === null
            ? null
            : ['Ended at', <Timestamp key="ended" at={rental.terminatedAt} />],
          rental.meta?.termination_reason === undefined
            ? null
            : ['Why it ended', rental.meta.termination_reason],
          ['Id', <Id key="id" value={rental.externalId} what="id of the rental" />],
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
        ? 'Then it goes on, on demand.'
        : 'Then it ends with its disk.'}
    </>
  );
}

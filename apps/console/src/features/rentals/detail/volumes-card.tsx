import { LiveCost, PerHour } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import { Table } from '../../../ui/table.tsx';
import { useLivePrices } from '../../../api/use-live-volume-prices.ts';
import { pricedVolumes, type Rental } from '../rental.ts';
import { LinkButton, TextLink } from '../../../ui/link.tsx';

export function VolumesCard({ rental }: Readonly<{ rental: Rental }>) {
  const volumes = pricedVolumes(rental);
  const livePriceOf = useLivePrices(volumes);
  const all = (
    <LinkButton to="/volumes" size="small">
      All volumes
    </LinkButton>
  );
  if (volumes.length === 0) {
    return (
      <Card title="Volumes" actions={all}>
        {rental.supportsFeature.attachedStorage
          ? 'No volumes attached. A volume keeps its data after the rental ends; attach one on its page.'
          : 'Volumes are available for bare metal only. The disk of this rental is deleted with it.'}
      </Card>
    );
  }
  return (
    <Card title="Volumes" actions={all} flush>
      <Table
        caption="Attached volumes"
        rows={volumes}
        columns={[
          {
            head: 'Volume',
            main: true,
            cell: ({ id, label }) => (
              <TextLink
                to="/volumes/$volumeId"
                params={{ volumeId: String(id) }}
                className="text-accent underline-offset-2"
              >
                {label}
              </TextLink>
            ),
          },
          { head: 'Size', right: true, cell: ({ sizeInGb }) => `${String(sizeInGb)} GB` },
          { head: 'Address', cell: ({ vip }) => <code>{vip}</code> },
          {
            head: 'Price',
            right: true,
            cell: (volume) => (
              <>
                <PerHour usd={volume.cost_per_hour} />
                <LiveCost nano={livePriceOf(volume)} perHour />
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}

import { PerHour } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import { Table } from '../../../ui/table.tsx';
import type { Rental } from '../rental.ts';
import { LinkButton, TextLink } from '../../../ui/link.tsx';

/** Storage that outlives the rental. */
export function VolumesCard({ rental }: Readonly<{ rental: Rental }>) {
  const volumes = rental.attachedStorage ?? [];
  const all = (
    <LinkButton to="/volumes" size="small">
      All volumes
    </LinkButton>
  );
  if (volumes.length === 0) {
    return (
      <Card title="Volumes" actions={all}>
        {rental.supportsFeature.attachedStorage
          ? 'None is attached. A volume keeps its data when this rental ends; attach one from its own page.'
          : 'Volumes are for bare metal: this rental has its own disk, which ends with it.'}
      </Card>
    );
  }
  return (
    <Card title="Volumes" actions={all} flush>
      <Table
        caption="Volumes that this rental can mount"
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
          { head: 'Size', right: true, cell: ({ size_in_gb: sizeGb }) => `${String(sizeGb)} GB` },
          { head: 'Address', cell: ({ vip }) => <code>{vip}</code> },
          { head: 'Price', right: true, cell: ({ cost_per_hour: usd }) => <PerHour usd={usd} /> },
        ]}
      />
    </Card>
  );
}

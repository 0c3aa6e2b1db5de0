import { useApiQuery } from '../../../api/queries.ts';
import { LinkButton } from '../../../ui/link.tsx';
import { Card } from '../../../ui/page.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { Timeline } from '../../../ui/timeline.tsx';
import type { Account } from './supplier-account.ts';
import { isListed, supplierSteps, type SupplierStep } from './supplier-steps.ts';

export function StepTimeline({ steps }: Readonly<{ steps: readonly SupplierStep[] }>) {
  return (
    <Timeline
      label="From application to listing"
      items={steps.map(({ key, title, about, status, at }) => ({
        key,
        title,
        about,
        status,
        ...(at !== null && { time: <Timestamp at={at} /> }),
      }))}
    />
  );
}

/** Progress of an approved supplier until the first machine can be rented. */
export function ListingProgress({ account }: Readonly<{ account: Account }>) {
  const state = useApiQuery(
    ['supplier', 'progress'],
    async (client, signal) => {
      const [enrolments, machines] = await Promise.all([
        client.supplier.enrolments.list({ limit: 20 }, { signal }),
        client.supplier.machines.list({ limit: 20 }, { signal }),
      ]);
      return { enrolments: enrolments.items, machines: machines.items };
    },
    { refetchMs: 5_000 },
  );
  if (state.data === undefined) return null;
  const steps = supplierSteps({ account, ...state.data });
  if (isListed(steps)) return null;
  const isJoining = steps.some(({ key, status }) => key === 'join' && status === 'now');
  return (
    <Card
      title="Until your first machine is listed"
      actions={
        isJoining && (
          <LinkButton to="/supplier/machines" search={{ tab: 'join' }} size="small" kind="primary">
            Join a machine
          </LinkButton>
        )
      }
    >
      <StepTimeline steps={steps} />
    </Card>
  );
}

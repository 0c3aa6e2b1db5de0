import { useInstallation } from '../../api/session.tsx';
import { Money } from '../../ui/money.tsx';
import { KeyFigures, PageHeader } from '../../ui/page.tsx';
import type { CatalogSummary } from './offers.ts';
import { LinkButton } from '../../ui/link.tsx';

export function Hero({ facts }: Readonly<{ facts: CatalogSummary | null }>) {
  const { data: installation } = useInstallation();
  const isOpen = installation?.signUp !== 'closed';
  return (
    <>
      <PageHeader
        title="GPUs available now, at the price you see"
        about="Rent a virtual machine or whole nodes, log in over SSH within minutes, and stop when you are done. Browse without an account."
        actions={
          <>
            <LinkButton to="/sign-in">Sign in</LinkButton>
            {isOpen && (
              <LinkButton to="/sign-up" kind="primary">
                Sign up
              </LinkButton>
            )}
          </>
        }
      />
      {facts !== null && (
        <KeyFigures
          items={[
            {
              label: 'GPUs from',
              value:
                facts.lowestPerGpuNano === null ? (
                  'no price yet'
                ) : (
                  <>
                    <Money nano={facts.lowestPerGpuNano} />
                    <span className="text-soft text-sm font-normal"> an hour</span>
                  </>
                ),
              note: 'Billed by the second once the machine is ready',
            },
            {
              label: 'Available now',
              value: facts.gpusFree === 1 ? '1 GPU' : `${String(facts.gpusFree)} GPUs`,
              note:
                facts.regionsWithRoom === 1 ? 'In one region' : `In ${String(facts.regionsWithRoom)} regions`,
            },
            {
              label: 'Failed launches',
              value: 'Free',
              note: 'Nothing is billed before the machine is ready',
            },
          ]}
        />
      )}
    </>
  );
}

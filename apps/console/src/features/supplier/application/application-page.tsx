import { approximateDuration, usdText } from '@millrace/sdk/text';
import { useInstallation } from '../../../api/session.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import type { Account } from './supplier-account.ts';
import { ApplyForm } from './apply-form.tsx';
import { EarningsCalculator } from './earnings-calculator.tsx';
import { StepTimeline } from './supplier-timeline.tsx';
import { supplierSteps } from './supplier-steps.ts';

/** Before the approval: terms, requirements, an estimate, the steps, and the application. */
export function ApplicationPage({ account }: Readonly<{ account: Account | null }>) {
  const { data: installation } = useInstallation();
  const steps = supplierSteps({ account, enrolments: [], machines: [] });
  const isOpen = account === null || account.status === 'rejected';
  return (
    <>
      <PageHeader
        title={isOpen ? 'Become a supplier' : 'Your application'}
        about="Rent out your own GPU machines on the marketplace. You set the price; tenants pay by the second."
      />
      <div className="grid grid-cols-1 items-start gap-x-4 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          {isOpen && <ApplyForm refused={account} />}
          <EarningsCalculator terms={installation?.supplierTerms} />
        </div>
        <div className="min-w-0">
          <Card title="How it goes">
            <StepTimeline steps={steps} />
          </Card>
          <Terms />
          <Requirements />
        </div>
      </div>
      <CommandHint command="millrace supplier account" />
    </>
  );
}

function Terms() {
  const { data: installation } = useInstallation();
  if (installation === undefined) return null;
  const { feePercentage, leastNanoUsdPerGpuHour, mostNanoUsdPerGpuHour, payoutHoldSeconds } =
    installation.supplierTerms;
  return (
    <Card title="Terms">
      <DescriptionList
        items={[
          [
            'Your share',
            feePercentage === null
              ? 'The price less the fee. The operator states the fee when it approves you.'
              : `The price less a fee of ${String(feePercentage)} %.`,
          ],
          [
            'Your price',
            `${usdText(leastNanoUsdPerGpuHour)} to ${usdText(mostNanoUsdPerGpuHour)} per GPU-hour, as you set it.`,
          ],
          ['You earn', 'For every second that a tenant pays. Failed starts and lost machines earn nothing.'],
          [
            'Payout',
            payoutHoldSeconds === 0
              ? 'On request, at any time.'
              : `On request, ${approximateDuration(payoutHoldSeconds)} after a charge.`,
          ],
        ]}
      />
    </Card>
  );
}

function Requirements() {
  return (
    <Card title="Requirements">
      <DescriptionList
        items={[
          ['Hardware', 'A machine with one model of GPU, and CPU, memory and disk to share with tenants.'],
          ['Network', 'A public address. Ports 8443 and 20000 to 29999 must be reachable from the internet.'],
          [
            'Software',
            'Linux with Incus 6.0 or later as a standalone server, not a cluster, with a managed network and storage pool.',
          ],
          [
            'Access',
            'Millrace gets one project of the Incus daemon. You stay the owner of the machine and can end the access at any time.',
          ],
        ]}
      />
      <p className="text-soft mt-3 text-xs">
        See how tenants see machines on the <TextLink to="/marketplace">marketplace</TextLink>.
      </p>
    </Card>
  );
}

import { CheckboxField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { ChoiceGroup, ChoiceTile } from './choice.tsx';
import { FORM_ID } from './form-id.ts';
import type { RentalSpec } from '../catalog/selection.ts';
import type { TermOption } from './summary.ts';

interface TermCardProps {
  readonly spec: RentalSpec;
  readonly terms: readonly TermOption[];
  readonly convert: boolean;
  readonly onDays: (days: number | null) => void;
  readonly onConvert: (convert: boolean) => void;
}

export function TermCard({ spec, terms, convert, onDays, onConvert }: TermCardProps) {
  const isListed = spec.days === null || terms.some(({ days }) => days === spec.days);
  return (
    <Card title="Term">
      <div className="flex flex-col gap-3">
        <ChoiceGroup legend="Billing">
          <ChoiceTile name="term" checked={spec.days === null} onChoose={() => onDays(null)}>
            <span className="font-medium">On demand</span>
            <span className="text-soft text-xs">
              Billed by the second. Terminate at any time without further cost.
            </span>
          </ChoiceTile>
          {terms.map(({ days, discountPercentage, refundPercentage }) => (
            <ChoiceTile key={days} name="term" checked={spec.days === days} onChoose={() => onDays(days)}>
              <span className="font-medium">
                {days} days, {discountPercentage} % off
              </span>
              <span className="text-soft text-xs">
                Holds the cost of the whole term. If you terminate early, you get{' '}
                {refundPercentage === 0 ? 'none' : `${String(refundPercentage)} %`} of the rest back.
              </span>
            </ChoiceTile>
          ))}
          {!isListed && (
            <ChoiceTile name="term" checked onChoose={() => undefined}>
              <span className="font-medium">{spec.days} days</span>
              <span className="text-soft text-xs">This term is not available here. Choose another.</span>
            </ChoiceTile>
          )}
        </ChoiceGroup>
        {terms.length === 0 && spec.days === null && (
          <p className="text-soft text-xs">No reserved terms are available for this machine.</p>
        )}
        {spec.days !== null && (
          <CheckboxField
            form={FORM_ID}
            label="Continue on demand after the term"
            hint="Otherwise the machine and its disk are deleted at the end of the term."
            checked={convert}
            onValue={onConvert}
          />
        )}
      </div>
    </Card>
  );
}

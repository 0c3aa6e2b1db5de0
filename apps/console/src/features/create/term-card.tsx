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

/** By the hour, or reserved for a while: cheaper, and agreed to as a whole. */
export function TermCard({ spec, terms, convert, onDays, onConvert }: TermCardProps) {
  const isListed = spec.days === null || terms.some(({ days }) => days === spec.days);
  return (
    <Card title="Term">
      <div className="flex flex-col gap-3">
        <ChoiceGroup legend="How it is paid">
          <ChoiceTile name="term" checked={spec.days === null} onChoose={() => onDays(null)}>
            <span className="font-medium">On demand</span>
            <span className="text-soft text-xs">
              Paid as it runs, to the millisecond. End it whenever you like; nothing is owed afterwards.
            </span>
          </ChoiceTile>
          {terms.map(({ days, discountPercentage, refundPercentage }) => (
            <ChoiceTile key={days} name="term" checked={spec.days === days} onChoose={() => onDays(days)}>
              <span className="font-medium">
                {days} days, {discountPercentage} % off
              </span>
              <span className="text-soft text-xs">
                The whole term is set aside at once. Ended early,{' '}
                {refundPercentage === 0 ? 'nothing' : `${String(refundPercentage)} %`} of the rest is given
                back.
              </span>
            </ChoiceTile>
          ))}
          {!isListed && (
            <ChoiceTile name="term" checked onChoose={() => undefined}>
              <span className="font-medium">{spec.days} days</span>
              <span className="text-soft text-xs">No such term is on offer here. Choose another.</span>
            </ChoiceTile>
          )}
        </ChoiceGroup>
        {terms.length === 0 && spec.days === null && (
          <p className="text-soft text-xs">No reserved terms are on offer for this machine.</p>
        )}
        {spec.days !== null && (
          <CheckboxField
            form={FORM_ID}
            label="Go on by the hour after the term"
            hint="Otherwise it ends with the term, and its disk with it."
            checked={convert}
            onValue={onConvert}
          />
        )}
      </div>
    </Card>
  );
}

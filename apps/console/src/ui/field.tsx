import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';

const box =
  'border-field bg-surface text-ink min-h-9 w-full rounded-md border px-2.5 py-1.5 aria-invalid:border-bad disabled:opacity-60';

interface Labelled {
  readonly label: string;
  /** What helps to fill it in, below the label. */
  readonly hint?: ReactNode;
  /** What is wrong with it. */
  readonly error?: string | undefined;
  /** For a field whose label is plain from where it stands: only screen readers are told. */
  readonly hideLabel?: boolean;
}

interface Ids {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

function Frame({
  label,
  hint,
  error,
  hideLabel,
  children,
}: Labelled & { readonly children: (ids: Ids) => ReactNode }) {
  const id = useId();
  const described = [hint === undefined ? null : `${id}-hint`, error === undefined ? null : `${id}-error`];
  const describedBy = described.filter((part) => part !== null).join(' ');
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className={hideLabel === true ? 'sr-only' : 'font-medium'}>
        {label}
      </label>
      {hint !== undefined && (
        <div id={`${id}-hint`} className="text-soft text-xs">
          {hint}
        </div>
      )}
      {children({
        id,
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {error !== undefined && (
        <div id={`${id}-error`} role="alert" className="text-bad text-xs">
          {error}
        </div>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Frame {...{ label, hint, error }} {...(hideLabel === undefined ? {} : { hideLabel })}>
      {(ids) => <input {...rest} {...ids} className={`${box} ${rest.className ?? ''}`} />}
    </Frame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Frame {...{ label, hint, error }} {...(hideLabel === undefined ? {} : { hideLabel })}>
      {(ids) => <textarea {...rest} {...ids} className={`${box} ${rest.className ?? ''}`} />}
    </Frame>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly disabled?: boolean;
}

export function SelectField({
  label,
  hint,
  error,
  hideLabel,
  choices,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement> & { readonly choices: readonly Choice[] }) {
  return (
    <Frame {...{ label, hint, error }} {...(hideLabel === undefined ? {} : { hideLabel })}>
      {(ids) => (
        <select {...rest} {...ids} className={`${box} ${rest.className ?? ''}`}>
          {choices.map(({ value, label: words, disabled }) => (
            <option key={value} value={value} disabled={disabled === true}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Frame>
  );
}

export function CheckboxField({
  label,
  hint,
  ...rest
}: Pick<Labelled, 'label' | 'hint'> & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        {...rest}
        id={id}
        type="checkbox"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className="accent-accent mt-0.5 size-4 shrink-0"
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <div id={`${id}-hint`} className="text-soft text-xs">
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

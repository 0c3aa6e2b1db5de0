import {
  createContext,
  use,
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { fieldIssue } from '../api/problem.ts';

const box =
  'border-field bg-surface text-ink min-h-9 w-full rounded-md border px-2.5 py-1.5 aria-invalid:border-bad disabled:opacity-60';

/** Error of the enclosing form, from which a field shows its own part. */
export const FormErrorContext = createContext<unknown>(null);

interface Labelled {
  readonly label: string;
  /** Help text below the label. */
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  /** Input name in the API; errors about it are shown at this field. */
  readonly issue?: string | undefined;
  /** Show the label only to screen readers. */
  readonly hideLabel?: boolean | undefined;
}

interface Ids {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

function Frame(props: Labelled & { readonly children: (ids: Ids) => ReactNode }) {
  const { label, hint, issue, hideLabel, children } = props;
  const formError = use(FormErrorContext);
  const error = props.error ?? (issue === undefined ? undefined : fieldIssue(formError, issue));
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

/** Element attributes whose handler gets the new value instead of the event. */
type WithValue<Attributes, Value> = Omit<Attributes, 'onChange'> & {
  readonly onValue?: ((value: Value) => void) | undefined;
};

type TextProps = Labelled & WithValue<InputHTMLAttributes<HTMLInputElement>, string>;

export function TextField(props: TextProps) {
  const { label, hint, error, issue, hideLabel, onValue, className = '', ...rest } = props;
  return (
    <Frame {...{ label, hint, error, issue, hideLabel }}>
      {(ids) => (
        <input
          {...rest}
          {...ids}
          className={`${box} ${className}`}
          onChange={({ target }) => onValue?.(target.value)}
        />
      )}
    </Frame>
  );
}

type AreaProps = Labelled & WithValue<TextareaHTMLAttributes<HTMLTextAreaElement>, string>;

export function TextArea(props: AreaProps) {
  const { label, hint, error, issue, hideLabel, onValue, className = '', ...rest } = props;
  return (
    <Frame {...{ label, hint, error, issue, hideLabel }}>
      {(ids) => (
        <textarea
          {...rest}
          {...ids}
          className={`${box} ${className}`}
          onChange={({ target }) => onValue?.(target.value)}
        />
      )}
    </Frame>
  );
}

export interface Choice<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
  readonly disabled?: boolean;
}

type SelectProps<Value extends string> = Labelled &
  WithValue<SelectHTMLAttributes<HTMLSelectElement>, Value> & {
    /** A plain value is its own label. */
    readonly choices: readonly (Value | Choice<Value>)[];
  };

/** Select field; values that are not in `choices` are never reported. */
export function SelectField<Value extends string>(props: SelectProps<Value>) {
  const { label, hint, error, issue, hideLabel, choices, onValue, className = '', ...rest } = props;
  const options: readonly Choice<Value>[] = choices.map((choice) =>
    typeof choice === 'string' ? { value: choice, label: choice } : choice,
  );
  const choose = (text: string): void => {
    const chosen = options.find(({ value }) => value === text);
    if (chosen !== undefined) onValue?.(chosen.value);
  };
  return (
    <Frame {...{ label, hint, error, issue, hideLabel }}>
      {(ids) => (
        <select
          {...rest}
          {...ids}
          className={`${box} ${className}`}
          onChange={({ target }) => choose(target.value)}
        >
          {options.map(({ value, label: words, disabled }) => (
            <option key={value} value={value} disabled={disabled === true}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Frame>
  );
}

interface FilterProps<Value extends string> extends Pick<Labelled, 'label' | 'hideLabel'> {
  /** Label of the option that filters nothing. */
  readonly all: string;
  readonly value: Value | undefined;
  readonly choices: readonly (Value | Choice<Value>)[];
  readonly onValue: (value: Value | undefined) => void;
}

/** Select field that filters a list. */
export function FilterField<Value extends string>(props: FilterProps<Value>) {
  const { all, value = '', choices, onValue, ...rest } = props;
  return (
    <SelectField<Value | ''>
      {...rest}
      value={value}
      choices={[{ value: '', label: all }, ...choices]}
      onValue={(next) => onValue(next === '' ? undefined : next)}
    />
  );
}

type CheckboxProps = Pick<Labelled, 'label' | 'hint'> &
  WithValue<InputHTMLAttributes<HTMLInputElement>, boolean>;

export function CheckboxField({ label, hint, onValue, ...rest }: CheckboxProps) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        {...rest}
        id={id}
        type="checkbox"
        onChange={({ target }) => onValue?.(target.checked)}
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

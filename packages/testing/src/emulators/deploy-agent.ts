import { createHash } from 'node:crypto';
import { systemClock } from '@millrace/platform/clock';
import { readConfigDrive } from './config-drive.ts';
import type { EmulatedMachine } from './emulated-machine.ts';
import { readIso } from './iso9660.ts';

/** The deploy agent of a machine that booted from the engine's CD. */
export interface DeployAgent {
  /** The commands of the engine with their results, as the agent's API shows them. */
  readonly commands: readonly AgentCommand[];
  /** Starts a command. */
  take(name: string, params: Readonly<Record<string, unknown>>): AgentCommand;
  stop(): void;
}

export interface AgentCommand {
  readonly id: string;
  readonly command_name: string;
  readonly command_params: unknown;
  command_status: 'RUNNING' | 'SUCCEEDED' | 'FAILED';
  command_error: { readonly type: string; readonly message: string; readonly code: number } | null;
  command_result: unknown;
}

interface Step {
  readonly step: string;
  readonly args?: {
    readonly image_info?: ImageInfo;
    readonly configdrive?: string | null;
  };
}

interface ImageInfo {
  readonly urls: readonly string[];
  readonly os_hash_algo?: string;
  readonly os_hash_value?: string;
}

/** More frequent than a real agent's, because tests must not wait minutes for a lost first heartbeat. */
const FIRST_HEARTBEAT_MS = 300;
const HEARTBEAT_MS = 2_000;
const lockedMs = 100;
const agentVersion = '9.4.0';
const apiVersion = '1.68';

/**
 * Behaves like the real agent as far as the engine can see: looks its node up by the MAC address, sends heartbeats with
 * the token from the CD, and executes commands. The disk is a variable: cleaning empties it; deploying stores the
 * image, after checking its hash, and the config drive.
 */
export function runDeployAgent(machine: EmulatedMachine, cd: Buffer): DeployAgent {
  const over = new AbortController();
  const commands: AgentCommand[] = [];
  let sendHeartbeat: () => void = () => undefined;
  const live = async (): Promise<void> => {
    const boot = bootParametersOf(cd);
    const node = await lookUp(machine, boot.apiUrl, over.signal);
    sendHeartbeat = () => {
      void heartbeat({ ...boot, machine, node, signal: over.signal }).catch(() => undefined);
    };
    for (;;) {
      sendHeartbeat();
      await systemClock.sleep(commands.length === 0 ? FIRST_HEARTBEAT_MS : HEARTBEAT_MS, over.signal);
    }
  };
  if (!machine.faults.isAgentSilent) live().catch(() => undefined);
  return {
    commands,
    take: (name, params) => {
      const command: AgentCommand = {
        id: String(commands.length),
        command_name: name.split('.').at(-1) ?? name,
        command_params: params,
        command_status: 'RUNNING',
        command_error: null,
        command_result: null,
      };
      commands.push(command);
      executeCommand(machine, command, params, () => sendHeartbeat());
      return command;
    },
    stop: () => over.abort(),
  };
}

interface BootParameters {
  readonly apiUrl: string;
  readonly token: string;
}

/** The engine writes the kernel parameters to the boot menu of the CD. */
function bootParametersOf(cd: Buffer): BootParameters {
  for (const [path, content] of readIso(cd)) {
    if (!path.endsWith('.cfg')) continue;
    const text = content.toString('latin1');
    const value = (name: string): string | undefined => new RegExp(`${name}=(\\S+)`).exec(text)?.[1];
    const [apiUrl, token] = [value('ipa-api-url'), value('ipa-agent-token')];
    if (apiUrl !== undefined && token !== undefined) return { apiUrl, token };
  }
  throw new Error('The CD does not contain the address of the engine.');
}

const headers = { 'content-type': 'application/json', 'x-openstack-ironic-api-version': apiVersion };

/** Retries until the node is found, because the engine might not be ready yet. */
async function lookUp(machine: EmulatedMachine, apiUrl: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const response = await fetch(`${apiUrl}/v1/lookup?addresses=${machine.mac}`, { headers, signal });
    const { node } = (await response.json()) as { readonly node?: { readonly uuid: string } };
    if (node !== undefined) return node.uuid;
    await systemClock.sleep(lockedMs, signal);
  }
}

interface Heartbeat extends BootParameters {
  readonly machine: EmulatedMachine;
  readonly node: string;
  readonly signal: AbortSignal;
}

/** A heartbeat for a locked node is lost, so it is sent again. */
async function heartbeat({ apiUrl, token, machine, node, signal }: Heartbeat): Promise<void> {
  const body = JSON.stringify({
    callback_url: `${machine.farmUrl}/agents/${machine.id}`,
    agent_token: token,
    agent_version: agentVersion,
  });
  for (let tries = 0; tries < 20; tries += 1) {
    const response = await fetch(`${apiUrl}/v1/heartbeat/${node}`, { method: 'POST', headers, body, signal });
    await response.body?.cancel();
    if (response.status !== 409) return;
    await systemClock.sleep(lockedMs, signal);
  }
}

function executeCommand(
  machine: EmulatedMachine,
  command: AgentCommand,
  params: Readonly<Record<string, unknown>>,
  sendHeartbeat: () => void,
): void {
  const succeed = (result: unknown): void => {
    command.command_result = result;
    command.command_status = 'SUCCEEDED';
  };
  const later = (work: Promise<unknown>): void => {
    void work
      .then(succeed, (error: unknown) => {
        command.command_error = { type: 'CommandExecutionError', message: String(error), code: 500 };
        command.command_status = 'FAILED';
      })
      .then(sendHeartbeat);
  };
  const step = params['step'] as Step | undefined;
  switch (command.command_name) {
    case 'get_clean_steps':
      return succeed({ clean_steps: stepsOf('erase_devices_metadata', 10), ...versions });
    case 'get_deploy_steps':
      return succeed({ deploy_steps: stepsOf('write_image', 0), ...versions });
    case 'execute_clean_step':
      return later(clean(machine).then(() => ({ clean_result: null, clean_step: step })));
    case 'execute_deploy_step':
      return later(deploy(machine, step).then(() => ({ deploy_result: 'done', deploy_step: step })));
    case 'power_off':
      // The engine requests the power state from the BMC next, which must be off by then.
      void machine.powerOff();
      return succeed(null);
    default:
      return succeed({ result: null });
  }
}

const versions = { hardware_manager_version: { generic_hardware_manager: '1.2' } };

const stepsOf = (step: string, priority: number) => ({
  GenericHardwareManager: [{ step, priority, interface: 'deploy', reboot_requested: false, abortable: true }],
});

async function clean(machine: EmulatedMachine): Promise<void> {
  if (machine.faults.failsToClean) throw new Error('The disk cannot be erased.');
  machine.wipe();
}

async function deploy(machine: EmulatedMachine, step: Step | undefined): Promise<void> {
  if (step?.step !== 'write_image') return;
  const { image_info: image, configdrive } = step.args ?? {};
  if (machine.faults.failsToWriteImage) throw new Error('Error writing image to device.');
  const [url] = image?.urls ?? [];
  if (image === undefined || url === undefined) throw new Error('There is no image to write.');
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The image cannot be loaded: ${response.status}.`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const hash = createHash(image.os_hash_algo ?? 'sha256')
    .update(bytes)
    .digest('hex');
  if (hash !== image.os_hash_value) throw new Error('The hash of the image does not match.');
  const config = { hostname: null, sshKeys: [], userData: null, networkData: null, hostKey: null };
  machine.disk = { image: bytes, config: configdrive ? readConfigDrive(configdrive) : config };
}

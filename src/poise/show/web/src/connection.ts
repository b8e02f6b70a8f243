/** The line to a running simulation: scenes and states in, acknowledgements and commands out; it comes back by itself. */
import { SCENE, STATE, type State, acknowledgement, readState, retryDelay, scenePack } from "./messages";

export interface Listener {
  scene(pack: Uint8Array): Promise<void>;
  /** Shows a state; resolves once it is drawn. */
  state(state: State): Promise<void>;
  text(message: Record<string, unknown>): void;
  /** The line is up, or lost. */
  line(isUp: boolean): void;
}

/** Carries messages both ways, as a WebSocket does. */
type Line = Pick<WebSocket, "readyState" | "send" | "onopen" | "onmessage" | "onclose">;

/** A line to the page around this one, such as a notebook; it is told when somebody listens here. */
class Around implements Line {
  readonly readyState = WebSocket.OPEN;
  onopen: Line["onopen"] = null;
  onmessage: Line["onmessage"] = null;
  onclose: Line["onclose"] = null;

  constructor() {
    addEventListener("message", (event) => {
      if (event.source === parent) this.onmessage?.call(this as unknown as WebSocket, event);
    });
    this.send("ready");
  }

  send(data: Parameters<Line["send"]>[0]): void {
    parent.postMessage(data, "*");
  }
}

export class Connection {
  readonly stats = { frames: 0, acks: 0, scenes: 0, stale: 0 };
  private socket: Line | null = null;
  private attempt = 0;
  private sceneNumber = -1;
  private ready: Promise<void> = Promise.resolve();

  constructor(
    private readonly address: string | null,
    private readonly listener: Listener,
  ) {
    this.open();
  }

  private line(): Line {
    if (this.address === null) return new Around();
    const url = new URL(this.address, location.href);
    url.protocol = url.protocol === "https:" || url.protocol === "wss:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    return socket;
  }

  private open(): void {
    const socket = this.line();
    this.socket = socket;
    this.sceneNumber = -1;
    socket.onopen = () => {
      this.attempt = 0;
      this.listener.line(true);
    };
    socket.onmessage = ({ data }) => this.receive(socket, data);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.listener.line(false);
      setTimeout(() => this.open(), 1000 * retryDelay(this.attempt++));
    };
  }

  private receive(socket: Line, data: string | ArrayBuffer): void {
    if (typeof data === "string") return this.listener.text(JSON.parse(data));
    const kind = new DataView(data).getUint8(0);
    if (kind === SCENE) {
      this.sceneNumber = (this.sceneNumber + 1) % 65536;
      this.stats.scenes += 1;
      // states that come meanwhile wait for the scene they belong to
      this.ready = this.ready.then(() => this.listener.scene(scenePack(data))).catch((error) => console.error(error));
    } else if (kind === STATE) {
      const state = readState(data);
      this.ready = this.ready.then(() => this.show(socket, state)).catch((error) => console.error(error));
    }
  }

  private async show(socket: Line, state: State): Promise<void> {
    if (state.scene === this.sceneNumber) {
      this.stats.frames += 1;
      await this.listener.state(state);
    } else this.stats.stale += 1;
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(acknowledgement(state.sequence));
    this.stats.acks += 1;
  }

  /** Sends a command; lost while the line is down. */
  send(message: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
